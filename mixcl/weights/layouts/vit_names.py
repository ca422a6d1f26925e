"""Names of a vision transformer's weights: mmpretrain's (left), and those of other libraries.

``*`` is the number of a block. Three names on the right are query, key and value, which mmpretrain keeps in one matrix.
"""

PLAIN = (('cls_token', 'cls_token'), ('pos_embed', 'pos_embed'))
QKV = ('query', 'key', 'value')

TIMM = (
    *PLAIN,
    ('patch_embed.projection', 'patch_embed.proj'),
    ('pre_norm', 'norm_pre'),
    ('layers.*.ln1', 'blocks.*.norm1'),
    ('layers.*.attn.qkv', 'blocks.*.attn.qkv'),
    ('layers.*.attn.proj', 'blocks.*.attn.proj'),
    ('layers.*.attn.gamma1.weight', 'blocks.*.ls1.gamma'),
    ('layers.*.ln2', 'blocks.*.norm2'),
    ('layers.*.ffn.layers.0.0', 'blocks.*.mlp.fc1'),
    ('layers.*.ffn.layers.1', 'blocks.*.mlp.fc2'),
    ('layers.*.ffn.gamma2.weight', 'blocks.*.ls2.gamma'),
    ('ln1', 'norm'),
    ('ln2', 'fc_norm'),
)
"""timm's ``VisionTransformer``; the authors' code of MoCo v3, DINO, PatchMix and SDMP has the same names."""

HUGGING_FACE = (
    ('cls_token', 'embeddings.cls_token'),
    ('pos_embed', 'embeddings.position_embeddings'),
    ('patch_embed.projection', 'embeddings.patch_embeddings.projection'),
    ('layers.*.ln1', 'encoder.layer.*.layernorm_before'),
    ('layers.*.attn.qkv', tuple(f'encoder.layer.*.attention.attention.{name}' for name in QKV)),
    ('layers.*.attn.proj', 'encoder.layer.*.attention.output.dense'),
    ('layers.*.ln2', 'encoder.layer.*.layernorm_after'),
    ('layers.*.ffn.layers.0.0', 'encoder.layer.*.intermediate.dense'),
    ('layers.*.ffn.layers.1', 'encoder.layer.*.output.dense'),
    ('ln1', 'layernorm'),
)
"""Names in files of transformers' ``ViTModel``; transformers 5 has others in memory, and reverts them on saving."""

TORCHVISION = (
    ('cls_token', 'class_token'),
    ('pos_embed', 'encoder.pos_embedding'),
    ('patch_embed.projection', 'conv_proj'),
    ('layers.*.ln1', 'encoder.layers.encoder_layer_*.ln_1'),
    ('layers.*.attn.qkv.weight', 'encoder.layers.encoder_layer_*.self_attention.in_proj_weight'),
    ('layers.*.attn.qkv.bias', 'encoder.layers.encoder_layer_*.self_attention.in_proj_bias'),
    ('layers.*.attn.proj', 'encoder.layers.encoder_layer_*.self_attention.out_proj'),
    ('layers.*.ln2', 'encoder.layers.encoder_layer_*.ln_2'),
    ('layers.*.ffn.layers.0.0', 'encoder.layers.encoder_layer_*.mlp.0'),
    ('layers.*.ffn.layers.1', 'encoder.layers.encoder_layer_*.mlp.3'),
    ('ln1', 'encoder.ln'),
)
"""torchvision's ``VisionTransformer``."""

APS = (
    ('cls_token', 'cls_token'),
    ('pos_embed', 'pos_embedding'),
    ('patch_embed.projection', 'patchify'),
    ('layers.*.ln1', 'transformer.*.norm1'),
    ('layers.*.attn.qkv', 'transformer.*.attn.qkv'),
    ('layers.*.attn.proj', 'transformer.*.attn.proj'),
    ('layers.*.ln2', 'transformer.*.norm2'),
    ('layers.*.ffn.layers.0.0', 'transformer.*.mlp.fc1'),
    ('layers.*.ffn.layers.1', 'transformer.*.mlp.fc2'),
    ('ln1', 'layer_norm'),
)
"""The APS authors' code. Its position embedding is (T, 1, C) and has no row for the class token."""

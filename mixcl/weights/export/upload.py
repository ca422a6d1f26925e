"""Upload of an exported folder to a repository of the hub, by the account that the user is logged in with."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import constants, create_repo, upload_folder

from mixcl.errors import UserError
from mixcl.weights.named import reason_of

HEADER = '---\nlibrary_name: timm\npipeline_tag: image-feature-extraction\ntags: [mixcl]\n---\n\n'
"""What the hub reads at the top of a model card."""


def repository_named(name: str) -> str:
    """Create a repository, which only its owner sees, unless it exists; return its name with the owner's.

    Raises:
        UserError: if the hub cannot be reached, or refuses.
    """
    with _of_hub(name, 'nothing was written'):
        return create_repo(name, private=True, exist_ok=True).repo_id


def upload(folder: Path, repository: str) -> None:
    """Upload the files of a folder as one commit; errors as in :func:`repository_named`."""
    with _of_hub(repository, f'{folder} is written, and `hf upload {repository} {folder}` uploads it'):
        upload_folder(repo_id=repository, folder_path=folder, commit_message='Backbone exported by mixcl')


@contextmanager
def _of_hub(repository: str, state: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of the client, and of the library that it sends requests with
        raise UserError(
            f'`push={repository}` failed at {constants.ENDPOINT} ({reason_of(error)}): log in by `hf auth login` or '
            f'HF_TOKEN with an account that may write there; {state}'
        ) from error

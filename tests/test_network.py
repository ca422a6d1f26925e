"""No command opens a connection to another machine, unless a name of weights or data asks for it."""

from pathlib import Path

import numpy as np
import pytest
from hub import python
from PIL import Image

WATCHED = """
import ipaddress, pathlib, sys

def watch(event, arguments):
    if event not in ('socket.connect', 'socket.sendto', 'socket.sendmsg', 'socket.getaddrinfo', 'socket.gethostbyname'):
        return
    place = arguments[0] if event in ('socket.getaddrinfo', 'socket.gethostbyname') else arguments[1]
    host = place[0] if isinstance(place, tuple) else place
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        # A path is a socket of this machine; a socket without an address is connected, which was seen, or of a pair.
        local = host in (None, 'localhost', '') or str(host).startswith(('/', '\\0'))
    if not local:
        with open('connections', 'a') as file:
            file.write(f'{sys.argv} {event} {host}\\n')

sys.addaudithook(watch)
"""
"""A ``sitecustomize`` that every Python imports first, also those that a command starts."""

COMMANDS = """
import sys
from mixcl.console import main
for words in (line.split() for line in sys.argv[1].splitlines()):
    sys.argv = ['mixcl', *words]
    main()
    print('done:', words[0])
"""

WORDS = """
train patchmix/vit-xs4_digits --smoke --work-dir smoke
pretrain --data photos --out run --method patchmix/vit-xs4_digits --epochs 1 --batch-size 8 --num-workers 1
embed run --images photos --out features --num-workers 1
evaluate run --data digits --protocols knn
export run --to timm --out exported
report run --out page.html
doctor
""".strip()


@pytest.mark.long
def test_commands_open_no_connection(tmp_path: Path) -> None:
    (tmp_path / 'sitecustomize.py').write_text(WATCHED)
    (tmp_path / 'photos').mkdir()
    for number in range(16):
        pixels = np.random.default_rng(number).integers(0, 255, (32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f'photos/{number}.png')
    result = python('-c', COMMANDS, WORDS, home=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count('done: ') == len(WORDS.splitlines())
    assert not (tmp_path / 'connections').exists(), (tmp_path / 'connections').read_text()
    python('-c', 'import urllib.request as web; web.urlopen("http://nobody.invalid")', home=tmp_path)
    assert 'nobody.invalid' in (tmp_path / 'connections').read_text()  # the hook does see connections

import { judgesAs } from "../../tests/support/verdicts.ts";

const python = (lines: readonly string[]) =>
  lines.map((line) => `python3 - <<'PY'\n${line}\nPY`);

Deno.test("Python: imported names, walked lists, libraries that save", () => {
  judgesAs({
    deny: python([
      "from pathlib import Path as P; P('/srv/x').open('w').write('a')",
      "from os import remove as r; r('/srv/x')",
      "from pathlib import Path; [p.unlink() for p in Path('/srv').glob('*')]",
      "from pathlib import Path\nfor p in Path('/srv').iterdir():\n  p.unlink()",
      "import glob, os\nfor f in glob.glob('/srv/*.log'): os.remove(f)",
      "import os\nfor f in ['a', '/srv/b']: os.remove(f)",
      "import os; os.execvp('touch', ['touch', '/srv/x'])",
      "import os; os.spawnlp(os.P_WAIT, 'touch', 'touch', '/srv/x')",
      "import numpy as np; np.savetxt('/srv/x.txt', [1])",
      "import torch; torch.save({}, '/srv/m.pt')",
      "import h5py; h5py.File('/srv/x.h5', 'w')",
      "import urllib.request as u; u.urlretrieve('https://e', filename='/srv/x')",
    ]),
    allow: python([
      "from pathlib import Path as P; P('/srv/x').open().read()",
      "from pathlib import Path; [print(p) for p in Path('/srv').glob('*')]",
      "from pathlib import Path\nfor p in Path('src').rglob('*.pyc'):\n  p.unlink()",
      "import os\nfor f in ['a', 'b']: os.remove(f)",
      "import glob, os\nfor f in glob.glob('out/*.log'): os.remove(f)",
      "import os; os.execvp('ls', ['ls', '/srv'])",
      "from pathlib import Path\nt = Path('a').read_text()\nprint(t.replace('/srv/a', '/srv/b'))",
      "import torch; torch.save(torch.load('/srv/m.pt'), 'm.pt')",
      "import h5py; h5py.File('/srv/x.h5', 'r')",
      "for x in (1, 2):\n  print(x > 1, '/srv')",
    ]),
  });
});

Deno.test("JavaScript, Lua and package scripts: joined names, lists, programs by name", () => {
  judgesAs({
    deny: [
      "node -e \"const {join}=require('path'); require('fs').rmSync(join('/srv','x'))\"",
      "node -e \"for (const f of ['/srv/a']) require('fs').rmSync(f)\"",
      "perl -e 'open F,\">$ARGV[0]\"' /srv/x",
      "php -r 'file_put_contents($argv[1],\"\");' /srv/x",
      "sd a b /srv/x",
      "emacs -Q --batch /srv/x -f save-buffer",
      "git apply --unsafe-paths --directory=/srv a.diff",
      "node -e \"const {rmSync: r} = require('fs'); r('/srv/a')\"",
      'deno eval \'new Deno.Command("touch",{args:["/srv/x"]}).outputSync()\'',
      'lua -e \'io.output("/srv/x"):write("a")\'',
      'cat > package.json <<\'A\'\n{"scripts":{"x":"touch /srv/x"}}\nA\nnpm run x',
    ],
    allow: [
      "node -e \"const {join}=require('path'); console.log(join('/srv','x'))\"",
      "node -e \"for (const f of ['a']) require('fs').rmSync(f)\"",
      'deno eval \'new Deno.Command("ls",{args:["/srv"]}).outputSync()\'',
      "lua -e 'io.input(\"/srv/x\")'",
      'cat > package.json <<\'A\'\n{"scripts":{"x":"touch x"}}\nA\nnpm run x',
      "nvm use 20; npm test",
      "fish -c 'set d out; mkdir -p $d; touch $d/x'",
    ],
  });
});

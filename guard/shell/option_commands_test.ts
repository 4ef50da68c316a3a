import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("command lines among options, and wrappers that start a shell", () => {
  judgesAs({
    deny: [
      "rsync -e 'sh -c \"touch /srv/x\"' a h:b",
      "ssh -o ProxyCommand='touch /srv/x' h",
      "scp -oProxyCommand='touch /srv/x' a h:b",
      "zip a.zip a -T -TT 'touch /srv/x'",
      "man -P 'tee /srv/x' ls",
      "sudo -s <<< 'touch /srv/x'",
      "su root <<< 'touch /srv/x'",
      "newgrp docker <<< 'touch /srv/x'",
      "/lib64/ld-linux-x86-64.so.2 /bin/touch /srv/x",
      "parallel --results /srv/out echo ::: 1",
    ],
    allow: [
      "rsync -e 'ssh -p 22' a h:b",
      "ssh -o StrictHostKeyChecking=no h 'touch /srv/x'",
      "man -P cat ls",
      "sudo -s <<< 'touch x'",
      "sudo -l",
      "su - app -c 'ls /srv'",
      "/lib64/ld-linux-x86-64.so.2 --list /bin/touch",
      "parallel --results out echo ::: 1",
    ],
  });
});

Deno.test("toolchains and tools that name a place, or change the account; their listings", () => {
  judgesAs({
    deny: [
      "unzip a.zip -x b -d /srv",
      "mksquashfs . /srv/a.sqfs",
      "htpasswd -bc /srv/.htpasswd a b",
      "npm link ../x",
      "pnpm setup",
      "deno install --root /srv a.ts",
      "gem build x.gemspec -o /srv/x.gem",
      "mvn dependency:copy-dependencies -DoutputDirectory=/srv",
      "sbt publishLocal",
      "kind create cluster",
      "helm pull x --untar --untardir /srv",
      "gh gist clone 1 /srv/g",
      "ansible-galaxy install -p /srv/r x",
      "aws s3api get-object --bucket b --key k /srv/x",
      "go run -exec 'touch /srv/x' .",
      "python3 setup.py bdist_wheel -d /srv",
      "2to3 -w /srv/a.py",
      "nyc --report-dir /srv/r mocha",
      "pass generate x",
    ],
    allow: [
      "unzip /srv/a.zip -x b -d out",
      "zip -sf /srv/x.zip",
      "zip -T /srv/x.zip",
      "keytool -list -keystore /srv/k.jks",
      "apt-get update --print-uris",
      "htpasswd -nb a b",
      "npm link x",
      "deno install",
      "mvn dependency:copy-dependencies -DoutputDirectory=target/d",
      "sbt test",
      "kind get clusters",
      "helm pull x --untar",
      "aws s3api get-object --bucket b --key k x",
      "python3 setup.py bdist_wheel -d out",
      "2to3 /srv/a.py",
    ],
  });
});

Deno.test("outputs of pictures' optimizers, databases, clouds, config text and other rare programs", () => {
  judgesAs({
    deny: [
      "optipng /srv/a.png",
      "jpegoptim --strip-all /srv/a.jpg",
      "pdftk a.pdf cat output /srv/b.pdf",
      "mysql -e \"select 1 into outfile '/srv/x'\"",
      "psql -c \"copy t to '/srv/x'\"",
      "az storage blob download -f /srv/x -n x -c c",
      "glab repo clone a/b /srv/b",
      "composer create-project x/y /srv/y",
      "sort -T /srv big",
      "curl -K - <<< 'output = \"/srv/x\"'",
      'awk \'{ print >> ENVIRON["HOME"] "/x" }\' a',
    ],
    allow: [
      "optipng a.png",
      "jpegoptim --stdout /srv/a.jpg > a.jpg",
      "pdftk /srv/a.pdf cat output b.pdf",
      "mysql -e 'select a into @b'",
      "psql -c 'copy t to stdout'",
      "psql -c \"copy t from '/srv/x'\"",
      "az storage blob upload -f /srv/x -n x -c c",
      "composer create-project x/y",
      "curl -K - <<< 'output = \"x\"'",
      "awk 'BEGIN { print ENVIRON[\"HOME\"] }'",
      'cp a "$(mktemp -u ./XXXX)"',
    ],
  });
});

import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("words are split and joined by the IFS that the command sets", () => {
  judgesAs({
    deny: [
      "IFS=,; C=touch,/srv/x; $C",
      "IFS=':'; P=a:/srv/x; touch $P",
      'IFS=/; set -- "" srv x; echo a > "$*"',
      'IFS=/; A=("" srv x); echo a > "${A[*]}"',
      'IFS=, read -r a b <<< "x,/srv/x y"; echo a > "$b"',
      'A=(touch /srv/x); bash -c "${A[*]}"',
    ],
    allow: [
      "IFS=,; C=touch,x; $C",
      "IFS=; F='a b'; touch $F",
      'A=(touch x); bash -c "${A[*]}"',
    ],
  });
});

Deno.test("a part of a list is the elements it names", () => {
  judgesAs({
    deny: [
      'set -- a /srv/x; echo a > "${@: -1}"',
      'set -- a /srv/x; echo a > "${@:2:1}"',
      'set -- a /srv/x; echo a > "${!#}"',
      'A=(a /srv/x); echo a > "${A[@]: -1}"',
      'A=(a /srv/x b); touch "${A[@]:1:1}"',
      'A=(a /srv); touch "${A[@]/%//x}"',
      "p='\\x2fsrv'; touch \"${p@E}/x\"",
      "p=$(expr substr /srvx 1 4); touch $p/x",
      "touch $(date +/srv/x)",
      "touch $(seq -f /srv/%g 2)",
      "p=$(grep -o '/srv' <<< 'a/srv'); touch $p/x",
      "p=$(echo L3Nydg== | openssl base64 -d); touch $p/x",
      "pushd -n /srv; popd; touch x",
    ],
    allow: [
      'set -- /srv/x a; echo a > "${@: -1}"',
      'set -- /srv/x a; touch "${@:2}"',
      'A=(/srv/x a); touch "${A[@]:1}"',
      'A=(/srv/x /srv/y); touch "${A[@]##*/}"',
      'A=(a b); touch "${A[@]/%/.txt}"',
      "touch x-$(date +%F)",
      "touch x-$(openssl rand -hex 4)",
      "touch x-$(expr 1 + 2)",
      "touch $(grep -o 'v[0-9]' <<< 'a v1')",
      "pushd -n /srv; touch x",
    ],
  });
});

Deno.test("a function's own variables end with it", () => {
  judgesAs({
    deny: [
      "D=.; f() { D=/srv; }; f; touch $D/x",
      "D=.; f() { declare -g D=/srv; }; f; touch $D/x",
      "f() { local D=/srv; g; }; g() { touch $D/x; }; f",
    ],
    allow: [
      "D=src; f() { local D=/srv; ls $D; }; f; touch $D/x",
      "D=src; f() { local D; D=/srv; ls $D; }; f; touch $D/x",
      "grep -rl a . | xargs rm",
    ],
  });
});

Deno.test("xargs hands on what its separator leaves whole; hash -p names a program", () => {
  judgesAs({
    deny: [
      "printf 'touch /srv/x' | xargs -0 sh -c",
      "printf 'a,/srv/x' | xargs -d , touch",
      "hash -p /bin/touch t; t /srv/x",
    ],
    allow: ["printf 'a,b' | xargs -d , touch", "hash -r; touch x"],
  });
});

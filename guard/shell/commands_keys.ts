/**
 * Keys, certificates and what looks for holes. Data only.
 *
 * @module
 */
import { each, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const keyCommands: VerbTable = verbTable(() => ({
  openssl: {
    takes:
      "-in -key -CA -CAkey -config -subj -days -newkey -passin -passout -inkey -certfile -name -extfile -connect -servername -cert",
    writes:
      "-out -keyout -CAserial -writerand -signature-out -sess_out -keylogfile -sigout -pubout_file",
    singleDash: true,
  },
  ...each("gpg gpg2", {
    operands: "all",
    onlyWith:
      "-e --encrypt -c --symmetric -s --sign -b --detach-sign --clear-sign --clearsign",
    takes:
      "-r -u --recipient --local-user --passphrase --passphrase-file --keyserver --cipher-algo --homedir --pinentry-mode --status-fd",
    writes:
      "-o --output --log-file --status-file --logger-file --attribute-file --gen-revoke-to",
    instead: "-o --output -d --decrypt --verify",
    exact: true,
  }),
  sops: {
    operands: "all",
    onlyWith: "-i --in-place",
    takes: "--config --age --pgp --kms --input-type --output-type",
    writes: "--output",
  },
  "ansible-vault": {
    subs: {
      ...each("encrypt decrypt rekey create edit", {
        operands: "all",
        takes: "--vault-id --vault-password-file",
        writes: "--output",
        instead: "--output",
      }),
    },
  },
  ...each("minisign signify", {
    takes: "-m -c -t",
    writes: "-p -s -x",
    unless: "-V",
  }),
  certutil: {
    writes: "-d -o",
    onlyWith: "-N -A -D -S -M",
    takes: "-n -t -i -f",
    unless: "-L -V -K",
  },
  certtool: { takes: "--load-privkey --template", writes: "--outfile" },
  step: {
    subs: {
      certificate: {
        subs: {
          create: { operands: "rest", takes: "--profile --ca --ca-key --san" },
          sign: {},
          bundle: { operands: "final" },
        },
      },
      crypto: {
        subs: {
          keypair: { operands: "all" },
          jwk: { subs: { create: { operands: "all" } } },
        },
      },
      ca: {
        subs: {
          certificate: { operands: "rest" },
          root: { operands: "first" },
        },
      },
    },
  },
  cfssljson: { operands: "final", onlyWith: "-bare", singleDash: true },
  age: { takes: "-r -R -i", writes: "-o --output" },
  "age-keygen": { writes: "-o --output" },
  keytool: {
    takes: "-alias -storepass -keypass -dname -validity -keyalg -keysize",
    writes: "-keystore -destkeystore -file",
    unless: "-list -printcert -help",
    singleDash: true,
  },
  certbot: { writes: "--config-dir --work-dir --logs-dir" },
  htpasswd: { operands: "first", takes: "-C -r", unless: "-n -v" },
  mkcert: { writes: "-cert-file -key-file -p12-file", singleDash: true },
  // What looks for holes
  ...each("syft grype", {
    takes: "-c --config --scope --from --platform",
    writes: "-o --output --file",
    named: "-o --output",
  }),
  john: { writes: "--pot --session", exact: true },
  hashcat: { writes: "-o --outfile --potfile-path --session" },
  ...each("nikto ffuf gobuster hydra sqlmap wpscan", {
    writes: "-o --output --output-dir -output",
  }),
  // Packets
  ...each("editcap text2pcap reordercap", {
    operands: "final",
    takes: "-A -B -c -i -F -T -E",
  }),
  mergecap: { writes: "-w", takes: "-F -s" },
  ...each("mitmdump mitmproxy mitmweb", {
    takes: "-p -s -m --mode",
    writes: "-w --save-stream-file",
  }),
  ngrep: { takes: "-d -I", writes: "-O" },
  ...each("bpftrace sysdig", { takes: "-e", writes: "-o -w" }),
}));

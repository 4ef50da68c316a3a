import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("PowerShell writes through .NET's classes", () => {
  judgesAs({
    deny: [
      '(New-Object Net.WebClient).DownloadFile("https://x.dev","/srv/a")',
      '$s = New-Object IO.StreamWriter "/srv/x"; $s.Write("a")',
      '$s = New-Object -TypeName System.IO.StreamWriter -ArgumentList "/srv/x"',
      '$s = [IO.StreamWriter]::new("/srv/x")',
      '$p = "/srv/x"; [IO.File]::WriteAllText($p, "a")',
      '[System.IO.File]::WriteAllLines("$HOME/x", $lines)',
      '[IO.File]::WriteAllText((Join-Path /srv x), "a")',
      '[IO.File]::Move("a", "/srv/a")',
      '[IO.Compression.ZipFile]::ExtractToDirectory("a.zip", "/srv")',
      '$xml.Save("/srv/x.xml")',
      '$f = New-Object IO.FileStream("/srv/x", [IO.FileMode]::Create)',
    ],
    allow: [
      '(New-Object Net.WebClient).DownloadFile("https://x.dev","a")',
      '(New-Object Net.WebClient).DownloadString("https://x.dev/srv")',
      '$s = New-Object IO.StreamReader "/srv/x"; $s.ReadToEnd()',
      '[IO.File]::WriteAllText("a", "/srv/x")',
      '[IO.File]::Copy("/srv/x", "a")',
      '[IO.Path]::Combine("/srv", "x")',
      '[IO.Compression.ZipFile]::ExtractToDirectory("/srv/a.zip", "out")',
      '$f = New-Object IO.FileStream("/srv/x", [IO.FileMode]::Open)',
    ],
  }, "PowerShell");
});

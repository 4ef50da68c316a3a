import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("PowerShell: places that are left and come back, lists that are handed on, other shells", () => {
  judgesAs({
    deny: [
      '"a","/srv/b" | Remove-Item',
      '"/srv/a","b" | ForEach-Object { Set-Content $_ x }',
      "Get-ChildItem /srv | Remove-Item",
      "Push-Location /srv; ni x; Pop-Location",
      'cmd /c "echo x > /srv/y"',
      "wget https://e.org -OutFile /srv/x",
      "Save-Module x -Path /srv",
      "Install-Module x",
      "Start-Process ls -RedirectStandardOutput /srv/x",
    ],
    allow: [
      "Push-Location /srv; ls; Pop-Location; ni x",
      'pushd /srv; popd; "a" > x',
      '"a","b" | Remove-Item',
      '"/srv/a" | Get-Content',
      '"/srv/a" | Out-File x',
      'cmd /c "type /srv/y > x"',
      "wget https://e.org -OutFile x",
      "Start-Process ls -RedirectStandardOutput x",
    ],
  }, "PowerShell");
});

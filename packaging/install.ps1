# Installs backstory, or a newer version of it, for the current user. Needs Windows PowerShell 5.1 or later.
#
#     .\install.ps1                 installs into %LOCALAPPDATA%\Programs\backstory (or $env:BACKSTORY_BIN)
#     .\install.ps1 -Uninstall      disconnects the agents and removes the program; memories stay
#
# Downloads one archive, checks its SHA-256 sum, and adds the folder of the program to the user's PATH.
param([switch]$Uninstall)
$ErrorActionPreference = 'Stop'
# The progress display of Windows PowerShell slows a download down many times.
$ProgressPreference = 'SilentlyContinue'

$version = '@VERSION@'
$base = if ($env:BACKSTORY_DOWNLOAD) { $env:BACKSTORY_DOWNLOAD } else { '@BASE_URL@' }
$bin = if ($env:BACKSTORY_BIN) { $env:BACKSTORY_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\backstory' }
$program = Join-Path $bin 'backstory.exe'

# Calls the given block with the folders of the user's PATH and stores what it returns. Entries such as %USERPROFILE%\bin stay as
# they are: [Environment]::GetEnvironmentVariable would expand them.
function Edit-UserPath([scriptblock]$Edit) {
    $key = [Microsoft.Win32.Registry]::CurrentUser.OpenSubKey('Environment', $true)
    try {
        $folders = @($key.GetValue('Path', '', 'DoNotExpandEnvironmentNames') -split ';' | Where-Object { $_ })
        $new = (& $Edit $folders) -join ';'
        if ($new -eq ($folders -join ';')) { return $false }
        $key.SetValue('Path', $new, 'ExpandString')
    } finally {
        $key.Close()
    }
    # Only this tells running programs about the change; the variable is gone again.
    [Environment]::SetEnvironmentVariable('BACKSTORY_PATH_CHANGED', '1', 'User')
    [Environment]::SetEnvironmentVariable('BACKSTORY_PATH_CHANGED', [NullString]::Value, 'User')
    return $true
}

function Remove-OldPrograms {
    # One that still runs is removed the next time.
    Get-ChildItem $bin -Filter 'backstory.exe.*.old' | Remove-Item -ErrorAction SilentlyContinue
}

if ($Uninstall) {
    if (-not (Test-Path $program)) { throw "backstory is not installed in $bin" }
    & $program uninstall --yes
    if ($LASTEXITCODE -ne 0) { throw 'the agents could not be disconnected; nothing was removed' }
    & $program worker stop | Out-Null
    Remove-Item $program
    Remove-OldPrograms
    Edit-UserPath { param($folders) $folders | Where-Object { $_ -ne $bin } } | Out-Null
    Write-Output 'backstory was removed. Your memories are still in ~\.backstory; delete that folder to forget everything.'
    return
}

# A 32-bit PowerShell names the architecture of the system in the second variable. Windows 11 on ARM runs programs for x64.
$architecture = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
if ($architecture -notin 'AMD64', 'ARM64') { throw "there is no build for $architecture" }
# Windows PowerShell on older systems does not offer it by itself.
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
$name = "backstory-v$version-x86_64-pc-windows-gnu.zip"
$folder = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $folder | Out-Null
try {
    $archive = Join-Path $folder 'archive.zip'
    Invoke-WebRequest -UseBasicParsing "$base/v$version/$name" -OutFile $archive
    Invoke-WebRequest -UseBasicParsing "$base/v$version/$name.sha256" -OutFile "$archive.sha256"
    $expected = (Get-Content -TotalCount 1 "$archive.sha256").Split(' ')[0]
    $actual = (Get-FileHash -Algorithm SHA256 $archive).Hash
    if ($actual -ne $expected) { throw "the checksum of $name is wrong; nothing was installed" }
    Expand-Archive $archive $folder
    $new = Join-Path $folder 'backstory.exe'
    & $new -V | Out-Null
    if ($LASTEXITCODE -ne 0) { throw 'the program does not run on this machine; nothing was installed' }
    New-Item -ItemType Directory -Force $bin | Out-Null
    Copy-Item $new "$program.new"
    # A running program cannot be overwritten, but it can be renamed.
    $had = $null
    if (Test-Path $program) {
        $had = & $program -V
        & $program worker stop | Out-Null
        Move-Item $program "$program.$([Guid]::NewGuid()).old"
    }
    Move-Item "$program.new" $program
    Remove-OldPrograms
} finally {
    Remove-Item -Recurse -Force $folder
}
if (Edit-UserPath { param($folders) if ($folders -contains $bin) { $folders } else { @($folders) + $bin } }) {
    $env:Path = "$env:Path;$bin"
    Write-Output "Added $bin to your PATH."
}
if ($had) {
    Write-Output "Updated $had to $(& $program -V) in $bin."
} else {
    Write-Output "Installed $(& $program -V) in $bin."
    Write-Output 'Next: backstory setup'
}

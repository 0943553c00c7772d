# Installs backstory, or a newer version of it, for the current user.
#
#     .\install.ps1                 installs into %LOCALAPPDATA%\Programs\backstory (or $env:BACKSTORY_BIN)
#     .\install.ps1 -Uninstall      disconnects the agents and removes the program; memories stay
param([switch]$Uninstall)
$ErrorActionPreference = 'Stop'

$version = '@VERSION@'
$base = if ($env:BACKSTORY_DOWNLOAD) { $env:BACKSTORY_DOWNLOAD } else { '@BASE_URL@' }
$bin = if ($env:BACKSTORY_BIN) { $env:BACKSTORY_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\backstory' }
$program = Join-Path $bin 'backstory.exe'

if ($Uninstall) {
    if (-not (Test-Path $program)) { throw "backstory is not installed in $bin" }
    & $program uninstall --yes
    & $program worker stop | Out-Null
    Remove-Item $program
    Write-Output 'backstory was removed. Your memories are still in ~\.backstory; delete that folder to forget everything.'
    return
}

if ($env:PROCESSOR_ARCHITECTURE -ne 'AMD64') { throw "there is no build for $env:PROCESSOR_ARCHITECTURE" }
$name = "backstory-v$version-x86_64-pc-windows-gnu"
$folder = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $folder | Out-Null
try {
    $archive = Join-Path $folder 'archive.tar.gz'
    Invoke-WebRequest -UseBasicParsing "$base/v$version/$name.tar.gz" -OutFile $archive
    Invoke-WebRequest -UseBasicParsing "$base/v$version/$name.tar.gz.sha256" -OutFile "$archive.sha256"
    $expected = (Get-Content "$archive.sha256").Split(' ')[0]
    $actual = (Get-FileHash -Algorithm SHA256 $archive).Hash
    if ($actual -ne $expected) { throw "the checksum of $name.tar.gz is wrong; nothing was installed" }
    tar -xzf $archive -C $folder
    New-Item -ItemType Directory -Force $bin | Out-Null
    # A running program cannot be overwritten, but it can be renamed.
    if (Test-Path $program) {
        & $program worker stop | Out-Null
        Move-Item -Force $program "$program.old"
    }
    Copy-Item (Join-Path $folder 'backstory.exe') $program
    Remove-Item -ErrorAction SilentlyContinue "$program.old"
} finally {
    Remove-Item -Recurse -Force $folder
}
$path = [Environment]::GetEnvironmentVariable('Path', 'User')
if (($path -split ';') -notcontains $bin) {
    [Environment]::SetEnvironmentVariable('Path', "$path;$bin", 'User')
    Write-Output "Added $bin to your PATH; new terminals find backstory."
}
Write-Output "Installed $(& $program -V) in $bin."
Write-Output 'Next: backstory setup'

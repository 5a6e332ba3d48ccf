# ldapdiag: what the other files here read of a host, of one that runs Windows, by Windows PowerShell 3 to 5.1.
# It reads and prints; it changes nothing, writes no file, and starts no program but netstat, where Get-NetTCPConnection
# fails. Of the registry only the values listed here are printed. By Microsoft's documentation; not run on Windows.
#
# `powershell -Command -` reads it from its input, a statement at a time: one that its first line does not complete ends
# with the next empty line. So a function has its brace in its first line, and an empty line after it, but none within;
# all else is in single lines. Source: issues 2068 and 3223 of PowerShell.
# Only ASCII is printed: the code page differs from host to host.
# Settings, as assignments before the script: $nonce, a word that no output contains by chance; $limit, seconds for the
# events. After the script follows what is to be shown, a function in a line.

if ($ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage') { 'restricted language mode'; exit 1 }

$ErrorActionPreference = 'Stop'

$ProgressPreference = 'SilentlyContinue'

$services = 'HKLM:\SYSTEM\CurrentControlSet\Services'

$events = '*[System[(EventID=1644 or EventID=1216 or EventID=1317 or EventID=2889)]]'

$levels = '15 Field Engineering = 5 and 16 LDAP Interface Events = 2 in its registry log them (docs/live.md)'

function Get-Moment {
    [DateTime]::UtcNow.ToString('s') + 'Z'
}

function Write-Line($text) {
    [Console]::Out.WriteLine(($text -replace '[^\x20-\x7e]', '?'))
}

function Write-Gap($reason, $how) {
    Write-Line "$nonce gap . $reason | $how"
}

function Open-Section($file, $ran) {
    Write-Line "$nonce begin . $file $(Get-Moment) $ran"
}

function Close-Section($status) {
    Write-Line "$nonce end $status $(Get-Moment)"
}

function Show-Host {
    Open-Section 'host.txt' 'Get-CimInstance Win32_OperatingSystem; Get-NetIPAddress'
    try {
        $system = Get-CimInstance -ClassName 'Win32_OperatingSystem'
        $booted = ($system.LastBootUpTime.ToUniversalTime() - [DateTime]'1970-01-01').TotalSeconds
        Write-Line 'ldapdiag-host 1'
        Write-Line "name: $($system.CSName)"
        Write-Line "system: $($system.Caption) $($system.Version)"
        Write-Line "clock: $(Get-Moment)"
        Write-Line "booted: $([long]$booted)"
        Get-NetIPAddress | ForEach-Object { Write-Line "address: $($_.IPAddress -replace '%.*')" }
        Close-Section 0
    } catch {
        Close-Section 1
    }
}

function Show-Socket($number) {
    Open-Section "sockets-$number.txt" 'Get-NetTCPConnection'
    try {
        $programs = Get-Process | Where-Object { $_.Id -gt 4 } | Group-Object -Property 'Id' -AsHashTable -AsString
        $program = {
            $owner = "$($_.OwningProcess)"
            if ($programs.ContainsKey($owner)) { "$($programs[$owner].ProcessName).exe" }
        }
        $ends = 'LocalAddress', 'LocalPort', 'RemoteAddress', 'RemotePort'
        $columns = $ends + 'State' + 'OwningProcess' + @{ Name = 'ProcessName'; Expression = $program }
        Get-NetTCPConnection | Select-Object -Property $columns | ConvertTo-Csv -NoTypeInformation |
            ForEach-Object { Write-Line $_ }
        Close-Section 0
    } catch {
        Close-Section 1
        Show-Netstat $number
    }
}

function Show-Netstat($number) {
    Open-Section "netstat-$number.txt" 'netstat -ano'
    try {
        netstat -ano | ForEach-Object { Write-Line $_ }
        Close-Section 0
    } catch {
        Close-Section 1
    }
}

function Show-Threshold($service) {
    $names = '15 Field Engineering', 'Expensive Search Results Threshold', 'Inefficient Search Results Threshold',
        'Search Time Threshold (msecs)'
    Open-Section "registry-$service.txt" "Get-Item $services\$service\Diagnostics, Parameters"
    try {
        foreach ($key in Get-Item -Path "$services\$service\Diagnostics", "$services\$service\Parameters") {
            Write-Line $key.Name
            foreach ($name in $names) {
                $value = $key.GetValue($name)
                if ($value -is [int]) { Write-Line ('    {0}    REG_DWORD    0x{1:x}' -f $name, $value) }
            }
        }
        Close-Section 0
    } catch {
        Close-Section 1
    }
}

function Show-Event($log, $number) {
    $most = 10000
    $left = 16777216
    $count = 0
    $failure = ''
    $until = (Get-Date).AddSeconds($limit)
    try {
        Get-WinEvent -LogName $log -FilterXPath $events -MaxEvents $most | ForEach-Object {
            if ($left -le 0 -or (Get-Date) -gt $until) { throw 'Enough' }
            if ($count -eq 0) { Open-Section "events-$number.xml" "Get-WinEvent '$log' -FilterXPath '$events'" }
            $text = [regex]::Replace($_.ToXml(), '[^\x20-\x7e]', { param($found) '&#{0};' -f [int][char]$found.Value })
            Write-Line $text
            $left -= $text.Length
            $count += 1
        }
    } catch {
        $failure = $_.FullyQualifiedErrorId
    }
    $isCut = $failure -eq 'Enough' -or $count -eq $most
    $isEmpty = $failure -like 'NoMatchingEventsFound*'
    if ($count -gt 0) { Close-Section ([int]($failure -ne '' -and $failure -ne 'Enough')) }
    if ($isCut) { Write-Gap "of its log $log only the newest $count events were read" 'raise --timeout, or export all' }
    if ($isEmpty) { Write-Gap "its log $log has no event 1644, 1216, 1317 or 2889" $levels }
    if ($failure -ne '' -and -not $isCut -and -not $isEmpty) {
        Write-Gap "its log $log could not be read: $failure" 'use an account of the group Event Log Readers'
    }
}

function Show-Directory {
    Get-Item -Path "$services\NTDS", "$services\ADAM_*" -ErrorAction 'SilentlyContinue' |
        ForEach-Object { Show-Threshold $_.PSChildName }
    $number = 0
    foreach ($log in Get-WinEvent -ListLog 'Directory Service', 'ADAM (*' -ErrorAction 'SilentlyContinue') {
        $number += 1
        Show-Event $log.LogName $number
    }
}

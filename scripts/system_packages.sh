#!/usr/bin/env bash
# Installs Debian's libseccomp2, chromium and postgresql where this is allowed, and says what their absence
# costs elsewhere. Its arguments are further programs to install, such as firefox-esr.
# Under CI=true a package that cannot be installed is an error.
set -u

missing=()
ldconfig -p 2>/dev/null | grep -q libseccomp.so.2 || missing+=(libseccomp2)
for program in chromium "$@"; do
    command -v "$program" >/dev/null || missing+=("$program")
done
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
fi

echo "Not installed: ${missing[*]}. On Debian: sudo apt-get install ${missing[*]}"
for package in "${missing[@]}"; do
    case $package in
    libseccomp2) echo "  without libseccomp2: gradlab grades only with --isolation=none" ;;
    firefox-esr) echo "  without firefox-esr: make nightly doesn't test the course in Firefox" ;;
    chromium) echo "  without chromium: the browser tests do not run" ;;
    postgresql) echo "  without postgresql: the tests of a gradebook on PostgreSQL do not run" ;;
    esac
done
[ "${CI:-}" = true ] && exit 1
exit 0

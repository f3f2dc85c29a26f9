#!/bin/sh
# Installs rasket as a system service, or upgrades it: run it again from a newer copy of the program.
#
#   sudo sh install.sh                 install or upgrade
#   sudo sh install.sh --uninstall     remove the program and the service; mail, keys and settings stay
#
#   --file FILE     install this executable of a release, or of `npm run package`: nothing else is needed beside this script
#   --manifest FILE verify the executable by the manifest of its release and the signature beside that, FILE.sig, before it is run
#   --key FILE      the public key of the releases (default: that of the installed program)
#   --allow-older   with --manifest, install a release that is older than the installed one
#   --dry-run       show what would be done, and do nothing
#   --help          show this
#   --prefix DIR    folder of the program (default: /opt/rasket)
#   --destdir DIR   lay out the files under DIR and touch nothing else: no account, no service, no dependencies (for packages)
#
# What it creates: the system account `rasket`, the program (owned by root), /etc/rasket/rasket.toml (kept if it exists),
# /var/lib/rasket (0700, yours to back up), the systemd unit, the link /usr/local/bin/rasket, the manual (`man rasket`, `man rasket-emails`) and
# the completion of bash, zsh and fish.
set -eu
umask 022
# With a CDPATH of the caller, cd could go elsewhere and say where.
unset CDPATH

# One function, called by the last line: a copy that was cut off on its way does nothing.
main() {

prefix=/opt/rasket
destdir=
uninstall=no
file=
manifest=
key=
older=no
version=
dry=no

synopsis='usage: sh install.sh [--file FILE [--manifest FILE [--key FILE] [--allow-older]]] [--prefix DIR] [--destdir DIR] [--dry-run] [--uninstall] [--help]'
usage() {
  printf '%s\n' "$synopsis" >&2
  exit 64
}
fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}
say() { printf '%s\n' "$1"; }

while [ $# -gt 0 ]; do
  case $1 in
    --prefix)
      [ $# -ge 2 ] || usage
      prefix=$2
      shift
      ;;
    --prefix=*) prefix=${1#*=} ;;
    --destdir)
      [ $# -ge 2 ] || usage
      destdir=$2
      shift
      ;;
    --destdir=*) destdir=${1#*=} ;;
    --file)
      [ $# -ge 2 ] || usage
      file=$2
      shift
      ;;
    --file=*) file=${1#*=} ;;
    --manifest)
      [ $# -ge 2 ] || usage
      manifest=$2
      shift
      ;;
    --manifest=*) manifest=${1#*=} ;;
    --key)
      [ $# -ge 2 ] || usage
      key=$2
      shift
      ;;
    --key=*) key=${1#*=} ;;
    --allow-older) older=yes ;;
    --dry-run) dry=yes ;;
    --help | -h)
      cat <<HELP
$synopsis

Installs rasket as a system service, or upgrades it: run it again from a newer copy of the program. As root.

  sudo sh install.sh                 install the checkout that contains this script
  sudo sh install.sh --file FILE     install the executable of a release; needs this script and the file alone
  sudo sh install.sh --uninstall     remove the program and the service; mail, keys and settings stay

  --manifest FILE verify the executable first, by the manifest of its release and the signature in FILE.sig
  --key FILE      public key of the releases (default: that of the installed program)
  --allow-older   install a release that is older than the installed one, which --manifest refuses otherwise
  --prefix DIR    folder of the program (default: /opt/rasket)
  --destdir DIR   lay out the files under DIR and touch nothing else
  --dry-run       show what would be done, and do nothing

If it is interrupted at any step, run it again.
HELP
      exit 0
      ;;
    --uninstall) uninstall=yes ;;
    *) usage ;;
  esac
  shift
done

# The prefix ends up in a unit file, and what lies there is replaced and removed: only a plain folder of its own will do.
while [ "$prefix" != "${prefix%/}" ] && [ "$prefix" != / ]; do prefix=${prefix%/}; done
case $prefix in
  / | /usr | /opt | /etc | /var | /home | /bin | /lib | /usr/local | /srv | /root | /tmp | /run | /sbin | /boot | /mnt | /media) fail "--prefix $prefix is a system folder; choose a folder for rasket only." ;;
  /home/* | /root/* | /tmp/* | /var/tmp/* | /run/*)
    fail "--prefix $prefix: the service cannot access home folders and temporary folders; use /opt, /srv or /usr/local."
    ;;
  /var/lib/rasket | /var/lib/rasket/* | /var/cache/*) fail "--prefix $prefix: the service can write to this folder, but root runs the program." ;;
  *[!A-Za-z0-9/._-]* | */../* | */.. | */./* | */. | *//*) fail "--prefix may contain only letters, digits and / . _ -; got $prefix." ;;
  /*) ;;
  *) fail "--prefix must be an absolute path; got $prefix." ;;
esac
case $destdir in
  '' | /*) destdir=${destdir%/} ;;
  *) destdir=$PWD/$destdir ;;
esac

[ -z "$manifest" ] || [ -n "$file" ] || usage
[ -z "$key" ] || [ -n "$manifest" ] || usage
[ $older = no ] || [ -n "$manifest" ] || usage

if [ -n "$file" ]; then
  [ -f "$file" ] || fail "--file $file is not an executable file; take that of a release, or make one with: npm run package"
  [ -x "$file" ] || fail "--file $file is not an executable file; after a download: chmod +x $file"
  # A name without a slash would be looked for in PATH.
  case $file in
    /*) ;;
    *) file=$PWD/$file ;;
  esac
fi

staged=no
[ -z "$destdir" ] || staged=yes
if [ $staged = no ] && [ $dry = no ] && [ "$(id -u)" -ne 0 ]; then
  fail 'this script creates a system account and a service and must run as root: sudo sh install.sh'
fi

program=$destdir$prefix
fresh=$program.new
previous=$program.previous
stopped=$program.stopped
unit=$destdir/etc/systemd/system/rasket.service
link=$destdir/usr/local/bin/rasket
settings=$destdir/etc/rasket/rasket.toml
state=$destdir/var/lib/rasket
package_unit=/usr/lib/systemd/system/rasket.service
manuals=$destdir/usr/local/share/man/man1
bash_completion=$destdir/usr/local/share/bash-completion/completions/rasket
zsh_completion=$destdir/usr/local/share/zsh/site-functions/_rasket
fish_completion=$destdir/usr/local/share/fish/vendor_completions.d/rasket.fish

# What is not of rasket is neither replaced nor removed.
is_program() { [ -f "$1/bin/rasket" ] && { [ -f "$1/.installation.json" ] || [ -f "$1/config/default.toml" ]; }; }
# Folders beside the program are made and removed on the way. What bears this name in it, or is empty, this script has made; what
# somebody else has put at their place is not touched.
mark=.made-by-install.sh
is_own() { [ -d "$1" ] && [ ! -h "$1" ] && { [ -e "$1/$mark" ] || [ -z "$(ls -A "$1")" ]; }; }
is_there() { [ -e "$1" ] || [ -h "$1" ]; }
# The mark goes last, so that one that was left half removed is known, too.
remove_own() {
  is_own "$1" || return 0
  for one in "$1"/* "$1"/.[!.]*; do
    [ "$one" = "$1/$mark" ] || rm -rf "$one"
  done
  rm -rf "$1"
}
is_own_note() { [ -f "$1" ] && [ ! -h "$1" ] && [ ! -s "$1" ]; }
has_systemd() { [ $staged = no ] && [ -d /run/systemd/system ]; }

# Who signed the manifest, and whether it lists the executable: before anything of that is run.
check_release() {
  for one in "$manifest" "$manifest.sig"; do
    [ -f "$one" ] || fail "--manifest: $one is missing; download it from where the executable came."
  done
  trusted=$key
  [ -n "$trusted" ] || trusted=$program/release.pub
  [ -s "$trusted" ] || fail 'no public key of the releases is known here; name its file with --key FILE.'
  for tool in ssh-keygen sha256sum; do
    command -v $tool >/dev/null 2>&1 || fail "$tool was not found in PATH and is needed to verify a release (Debian: openssh-client, coreutils)."
  done
  signers=$(mktemp)
  printf 'rasket namespaces="rasket-release" %s\n' "$(head -n 1 "$trusted")" >"$signers"
  verified=yes
  ssh-keygen -Y verify -f "$signers" -I rasket -n rasket-release -s "$manifest.sig" <"$manifest" >/dev/null 2>&1 || verified=no
  rm -f "$signers"
  [ $verified = yes ] || fail "$manifest is not signed with the key in $trusted; nothing was installed."
}
check_listed() {
  sum=$(sha256sum <"$1")
  grep -qF "\"sha256\": \"${sum%% *}\"" "$manifest" ||
    fail "$1 is not a file of the release in $manifest: it was changed or is of another release. Nothing was installed."
}

# Compares the numbers of two versions, whatever commits they name.
is_older() {
  [ "${1%%[+-]*}" != "${2%%[+-]*}" ] &&
    [ "$(printf '%s\n' "${1%%[+-]*}" "${2%%[+-]*}" | sort -t . -k 1,1n -k 2,2n -k 3,3n | head -n 1)" = "${1%%[+-]*}" ]
}
# A good signature never expires: whoever serves an old release could bring back what a newer one has corrected.
check_newer() {
  [ $older = no ] && is_program "$program" || return 0
  installed=$(env -i PATH="$PATH" "$program/bin/rasket" --version 2>/dev/null) || return 0
  ! is_older "$version" "$installed" ||
    fail "$file is $version, which is older than the installed $installed; to go back to it, add --allow-older. Nothing was installed."
}

# The copy of a checkout has no .git, so the commit that its version names is noted beside it.
find_commit() {
  if [ -f "$source/.commit" ]; then
    cat "$source/.commit"
    return
  fi
  git=$source/.git
  if [ -f "$git" ]; then git=$(sed 's/^gitdir: //' "$git"); fi
  case $git in /*) ;; *) git=$source/$git ;; esac
  head=$(cat "$git/HEAD" 2>/dev/null) || return 0
  ref=${head#ref: }
  if [ "$ref" = "$head" ]; then
    echo "$head"
    return
  fi
  common=.
  if [ -f "$git/commondir" ]; then common=$(cat "$git/commondir"); fi
  case $common in /*) ;; *) common=$git/$common ;; esac
  cat "$common/$ref" 2>/dev/null || sed -n "s# $ref\$##p" "$common/packed-refs" 2>/dev/null || :
}

# All that can stand in the way of an installation; a dry run finds the same.
check_installation() {
  case $0 in
    */*) source=${0%/*} ;;
    *) source=. ;;
  esac
  source=$(cd "$source" && pwd -P)
  parts='bin/rasket package-lock.json systemd/rasket.service config/default.toml'
  # An executable carries all of that.
  [ -z "$file" ] || parts=
  for part in $parts; do
    [ -f "$source/$part" ] ||
      fail "$source is not a copy of rasket: $part is missing. Install the executable of a release with: sh install.sh --file FILE"
  done
  if [ $staged = no ]; then
    [ "$(uname -s)" = Linux ] || fail "rasket can only be installed on Linux; this is $(uname -s)."
    [ ! -e "$package_unit" ] ||
      fail 'the Debian package rasket is installed: upgrade it with apt, or remove it first (mail, keys and settings stay): apt remove rasket'
    tools='npm node useradd'
    [ -z "$file" ] || tools=useradd
    for tool in $tools; do
      command -v $tool >/dev/null 2>&1 || fail "$tool was not found in PATH and is needed to install."
    done
  fi
  if [ -n "$manifest" ]; then
    check_release
    check_listed "$file"
  fi
  if [ -n "$file" ]; then
    version=$(env -i "$file" --version) || fail "$file does not start on this machine."
    case $version in
      [0-9]*.[0-9]*.[0-9]*) ;;
      *) fail "--file $file is not rasket: --version prints no version; take the executable of a release, or make one with: npm run package" ;;
    esac
    env -i "$file" --unpack 2>/dev/null | grep -qx systemd/rasket.service ||
      fail "--file $file does not contain the files of an installation; take the executable of a release, or make one with: npm run package"
    [ -z "$manifest" ] || check_newer
  fi
  in_place=no
  # Beside an installed executable lies a copy of this script, too.
  if [ "$source" = "$program" ] && { [ -z "$file" ] || [ -f "$source/package-lock.json" ]; }; then
    # The checkout would be moved away under this script, and be removed at the end.
    [ -z "$file" ] || fail "this checkout is in $program, where the file would be installed; choose another --prefix, or move the checkout first."
    in_place=yes
  elif [ -e "$program/.git" ]; then
    fail "$program is a checkout, which would be removed; run its own install.sh, move it, or choose another --prefix."
  elif [ -e "$program" ] && ! is_program "$program" && [ -n "$(ls -A "$program")" ]; then
    fail "$program contains other files, which would be removed; choose a folder for rasket only with --prefix."
  fi
  for one in "$fresh" "$previous"; do
    if [ $in_place = no ] && is_there "$one" && ! is_own "$one"; then
      fail "$one is in the way and was not made by this script; move it to another place first."
    fi
  done
  if is_there "$stopped" && ! is_own_note "$stopped"; then
    fail "$stopped is in the way and was not made by this script; move it to another place first."
  fi
}
# What apt installed is removed by apt alone.
check_removal() {
  if [ $staged = no ] && [ -e "$package_unit" ]; then
    fail 'the Debian package rasket is installed, and this script cannot remove it: apt remove rasket (mail, keys and settings stay)'
  fi
}
if [ $uninstall = yes ]; then check_removal; else check_installation; fi

if [ $dry = yes ]; then
  if [ $uninstall = yes ]; then
    say "would stop the service and remove $program, $unit, $link, the manual and the completions; $settings and $state would stay"
  else
    say "would install ${file:-the checkout of this script}${version:+ ($version)} to $program, with $unit, $link, the manual and the completions"
    if [ -e "$settings" ]; then say "would keep $settings"; else say "would write $settings"; fi
    if [ $staged = no ] && ! id rasket >/dev/null 2>&1; then say 'would create the system account rasket'; fi
    if has_systemd && systemctl is-active --quiet rasket.service; then say 'would stop the service for a few seconds and start it again'; fi
  fi
  exit 0
fi

if [ $uninstall = yes ]; then
  if has_systemd && [ -e "$unit" ]; then systemctl disable --quiet --now rasket.service || true; fi
  rm -f "$unit" "$link" "$manuals/rasket.1" "$manuals"/rasket-*.1 "$bash_completion" "$zsh_completion" "$fish_completion"
  # A folder that is not the program (a wrong --prefix) is left alone, and so is a checkout, which someone may be working in.
  if [ -e "$program/.git" ]; then
    rm -f "$program/.installation.json"
    say "$program is a checkout and was left in place."
  elif is_program "$program"; then
    rm -rf "$program"
  fi
  # Of a run that was broken off.
  remove_own "$program.new"
  remove_own "$program.previous"
  if is_own_note "$program.stopped"; then rm -f "$program.stopped"; fi
  for one in "$program.new" "$program.previous" "$program.stopped"; do
    if is_there "$one"; then say "$one was not made by this script and was left in place."; fi
  done
  if has_systemd; then systemctl daemon-reload; fi
  say "rasket is removed. Kept: $settings, and all mail and keys in $state."
  say "To delete those for good: rm -r $destdir/etc/rasket $state && userdel rasket"
  exit 0
fi

if [ $staged = no ] && ! id rasket >/dev/null 2>&1; then
  useradd --system --user-group --home-dir /var/lib/rasket --no-create-home --shell /usr/sbin/nologin rasket
  say 'created the system account rasket'
fi

# Two at once would take the folders of the new program from each other. An account that can open the lock can hold it: only root can.
if command -v flock >/dev/null 2>&1; then
  mkdir -p "${program%/*}"
  if [ $staged = no ] && [ -d /run ]; then
    (umask 077 && : >>/run/rasket-install.lock)
    exec 9>>/run/rasket-install.lock
  else
    exec 9<"${program%/*}"
  fi
  flock -n 9 || flock -w 30 9 || fail 'another installation is running; run this one again when it has ended.'
fi

# Another run may have come first.
check_installation
# The new program is made ready beside the running one, so that mail stops for seconds, not for the length of a download.
# Broken off between the two: the version before is put back, to be there if this one is broken off too.
if [ ! -e "$program" ] && [ -e "$previous" ]; then mv "$previous" "$program"; fi
# A copy that somebody makes of the program is not this script's.
rm -f "$program/$mark"
if [ $in_place = no ]; then
  remove_own "$fresh"
  mkdir -p "$fresh"
  : >"$fresh/$mark"
  items='package.json package-lock.json .npmrc bin src cli console migrations config systemd docs monitoring LICENSE README.md CHANGELOG.md'
  if [ -n "$file" ]; then
    mkdir -p "$fresh/bin"
    cp "$file" "$fresh/bin/rasket"
    # What was verified may have been replaced since.
    [ -z "$manifest" ] || check_listed "$fresh/bin/rasket"
    env -i "$fresh/bin/rasket" --unpack "$fresh" || fail "$file could not write its files to $fresh."
  else
    for item in $items; do
      [ ! -e "$source/$item" ] || cp -R "$source/$item" "$fresh/"
    done
    find_commit >"$fresh/.commit"
  fi
  find "$fresh" \( -name '*.test.ts' -o -name '*.test.tsx' \) -exec rm -f {} +
  # A checkout may have been made under a private umask; the service reads its code as another account.
  chmod -R u=rwX,go=rX "$fresh"
  [ -f "$fresh/bin/rasket" ] || fail 'the copy of the program is not complete.'
  chmod 755 "$fresh/bin/rasket"
  [ -n "$file" ] || chmod 755 "$fresh/bin/ensure-installed"
  ready=$fresh
else
  ready=$program
fi
# Where the operator's commands look: they are typed as root, without the variables that the unit gives to the service.
cat >"$ready/.installation.json" <<'JSON'
{ "data": "/var/lib/rasket", "config": "/etc/rasket/rasket.toml", "environment": "/etc/rasket/environment" }
JSON
chmod 644 "$ready/.installation.json"
if [ -n "$file" ]; then
  env -i "$ready/bin/rasket" --version >/dev/null || fail "$ready/bin/rasket does not start on this machine."
elif [ $staged = no ]; then
  sh "$ready/bin/ensure-installed" prod
  # Only what is not so yet: a build is named after the time of the last change of the note that everything was installed (bin/rasket).
  find "$ready/node_modules" ! -type l ! -perm 755 \( -type d -o ! -perm 644 \) -exec chmod go=rX {} +
  # The account of the service cannot write here: what the first start makes of the program (bin/rasket) is made now.
  env -i PATH="$PATH" "$ready/bin/rasket" --version >/dev/null
  [ ! -d "$ready/.cache" ] || chmod -R go=rX "$ready/.cache"
  # The copy is not edited, so that starts need not compare the build with its sources.
  built=$(cd "$ready/.cache/build" 2>/dev/null && ls -d */main.js 2>/dev/null) || built=
  if [ $in_place = no ] && [ -n "$built" ]; then
    echo "${built%%/*}" >"$ready/.installed-build"
    chmod 644 "$ready/.installed-build"
  fi
fi

# A power cut soon after the version before is removed would leave empty files where the new one is.
[ $in_place = yes ] || sync -f "$fresh" 2>/dev/null || sync

# With the service's settings and not those of whoever installs; the program works as the owner of the data folder.
installed_rasket() {
  (cd / && env -i PATH="$PATH" "$prefix/bin/rasket" "$@")
}

# Folders that cannot be made are said while the service still runs.
mkdir -p "$destdir/etc/systemd/system" "$destdir/usr/local/bin" "$destdir/etc/rasket" "$state"

# Called off with the service stopped, by a signal or an error: it runs again before this ends. After a kill -9 the next run starts it.
start_again() {
  status=$?
  trap - EXIT
  trap '' HUP INT PIPE TERM
  if [ $was_active = yes ] && has_systemd; then
    if [ ! -e "$program" ] && [ -e "$previous" ]; then
      mv "$previous" "$program"
      rm -f "$program/$mark"
    fi
    systemctl daemon-reload
    if systemctl start rasket.service; then
      rm -f "$stopped"
      printf 'install.sh: interrupted; the service was stopped for the upgrade and is running again. Run install.sh again to complete the upgrade.\n' >&2
    else
      printf 'install.sh: the service was stopped for the upgrade and does not start. See: journalctl -u rasket -n 20\n' >&2
    fi
  fi
  exit $status
}
was_active=no
trap start_again EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM
# What was stopped by a run that was broken off is started by this one.
if [ -e "$stopped" ]; then was_active=yes; fi
if has_systemd; then
  # One that migrates its database or waits for its next try runs as well.
  case $(systemctl show -p ActiveState rasket.service) in
    *=active | *=activating | *=reloading)
      was_active=yes
      : >"$stopped"
      systemctl stop rasket.service
      say 'stopped the service for the upgrade'
      ;;
  esac
fi
if [ $in_place = no ]; then
  remove_own "$previous"
  if [ -e "$program" ]; then
    : >"$program/$mark"
    mv "$program" "$previous"
  fi
  mv "$fresh" "$program"
  rm -f "$program/$mark"
fi

chmod 750 "$destdir/etc/rasket"
chmod 700 "$state"
ln -sfn "$prefix/bin/rasket" "$link"
sed "s#/opt/rasket#$prefix#g" "$program/systemd/rasket.service" >"$unit"
chmod 644 "$unit"
if [ ! -e "$settings" ]; then
  cat >"$settings" <<TOML
# Settings of this installation; what is not here keeps its default.
# Every setting, its default and the reason for it: $prefix/config/default.toml
# Restart after a change: systemctl restart rasket

[instance]
# The public name of this machine. It must resolve to this machine's address, and that address back to it:
# large receivers refuse mail from senders where it does not.
# host = "mail.example.com"

[http]
# What callers see. The API itself listens on loopback; rasket setup opens HTTPS ports or prints the lines for a proxy.
# public_url = "https://mail.example.com"
TOML
fi
chmod 640 "$settings"

if [ $staged = yes ]; then
  remove_own "$previous"
  say "wrote all files under $destdir; the account, the dependencies and the service are set up by the installation on the machine itself"
  exit 0
fi

chgrp rasket /etc/rasket "$settings"
chown rasket:rasket "$state"
if has_systemd; then systemctl daemon-reload; fi

first=no
if [ -e "$state/instance.key" ]; then
  if ! installed_rasket migrate; then
    # Migrations add before they remove, so that the version before understands the database as it is now.
    if [ -e "$previous" ]; then
      # Moved aside first: half of a program in this place would be taken for something else by the next run.
      : >"$program/$mark"
      mv "$program" "$fresh"
      mv "$previous" "$program"
      rm -f "$program/$mark"
      remove_own "$fresh"
      if [ $was_active = yes ] && systemctl start rasket.service; then
        was_active=no
        rm -f "$stopped"
      fi
      fail 'the database could not be migrated; the previous version is back in place and the data is untouched by this script.'
    fi
    fail 'the database could not be migrated; see the lines above.'
  fi
else
  first=yes
fi
remove_own "$previous"

upgraded=$was_active
if [ $was_active = yes ]; then
  systemctl start rasket.service
  was_active=no
  rm -f "$stopped"
fi

# From the same source as --help; an installation without a manual or completion is none the worse.
(umask 022 && installed_rasket man --to "$manuals") || rm -f "$manuals/rasket.1" "$manuals"/rasket-*.1
lay_completion() {
  mkdir -p "${2%/*}"
  installed_rasket completion "$1" >"$2" || rm -f "$2"
}
lay_completion bash "$bash_completion"
lay_completion zsh "$zsh_completion"
lay_completion fish "$fish_completion"

if [ $upgraded = yes ]; then
  say 'upgraded; the service is running again'
elif [ $first = no ]; then
  say 'upgraded; the service was not running and was not started: systemctl start rasket'
fi
if [ $first = yes ]; then
  cat <<'NEXT'

rasket is installed. Next, as root:

  rasket setup

It finds the host name, addresses and ports in use, asks for the rest, writes /etc/rasket/rasket.toml, creates the first team with
its API key, prints the DNS records of your domain, starts the service, gets a certificate and shows how to send the first email. You can
stop it at any time and run it again. Without questions: rasket setup --help. By hand: edit /etc/rasket/rasket.toml, rasket init, and
systemctl enable --now rasket.

Back up with rasket backup FOLDER: a plain copy of /var/lib/rasket while the service is running is not a backup.
NEXT
fi
}

main "$@"

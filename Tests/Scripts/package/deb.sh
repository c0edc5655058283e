#!/bin/sh
# Packs the static binary, its manual page, completions, the service and a configuration into a Debian package. Prints its path.
#
#     Tests/Scripts/package/deb.sh .build-static/release/receipt-bridge DIR
#
# dpkg-shlibdeps (dpkg-dev) says what the binary needs. The same binary gives the same bytes; SOURCE_DATE_EPOCH is the date of all
# files. For tests, VERSION is another version than that of the sources, and COMPRESSION=gzip is faster.
set -eu

tool=$(realpath "${1:?usage: deb.sh RECEIPT-BRIDGE DIR}")
mkdir -p "${2:?usage: deb.sh RECEIPT-BRIDGE DIR}"
out=$(realpath "$2")
cd "$(dirname "$0")/../../.."
export LC_ALL=C TZ=UTC
umask 022
# `~dev` sorts before the release.
version=${VERSION:-$(python3 Tests/Scripts/package/release.py --version | sed 's/-dev$/~dev/')}-1
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
architecture=$(dpkg --print-architecture)
maintainer="Receipt Bridge <maintainers@receipt-bridge.invalid>"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

make --no-print-directory install TOOL="$tool" DESTDIR="$root" PREFIX=/usr >/dev/null
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
sed -i '1{/^#!/d}' "$root/usr/share/bash-completion/completions/receipt-bridge"
gzip -n -9 "$root/usr/share/man/man1/receipt-bridge.1"
install -d "$root/lib/systemd/system" "$root/usr/share/doc/receipt-bridge" "$root/usr/share/lintian/overrides" "$root/DEBIAN"
install -d -m 0700 "$root/etc/receipt-bridge/secrets"
sed 's|/usr/local/bin|/usr/bin|' docs/systemd/receipt-bridge.service >"$root/lib/systemd/system/receipt-bridge.service"
cat >"$root/etc/receipt-bridge/receipt-bridge.yaml" <<'END'
listen: 127.0.0.1:8080 # behind nginx, or 0.0.0.0:8443 with `tls:`
store: sqlite:/var/lib/receipt-bridge/receipt-bridge.sqlite # the only folder that the service can write
#apps: [{bundleId: com.example.app, sharedSecret: {file: /run/credentials/receipt-bridge.service/app-secret}}]
END

documents=$root/usr/share/doc/receipt-bridge
gzip -n -9 <CHANGELOG.md >"$documents/changelog.gz"
printf 'receipt-bridge (%s) unstable; urgency=medium\n\n  * Release %s: changelog.gz has its changes.\n\n -- %s  %s\n' \
    "$version" "${version%-1}" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -n -9 >"$documents/changelog.Debian.gz"
python3 Tests/Scripts/package/release.py --sbom >"$documents/sbom.cdx.json"
cat >"$documents/copyright" <<'END'
Copyright 2026, the owner of Receipt Bridge, who has not chosen a license yet: ask before you use or distribute it.
It contains the packages that sbom.cdx.json lists, which are under Apache-2.0, MIT and the license of BoringSSL. The text of
Apache-2.0 is in /usr/share/common-licenses/Apache-2.0.
END
cat >"$root/usr/share/lintian/overrides/receipt-bridge" <<'END'
# It is not uploaded to Debian.
receipt-bridge: initial-upload-closes-no-bugs *
# Secrets are for root only.
receipt-bridge: non-standard-dir-perm 0700 != 0755 *
# Yams contains it; its version is in sbom.cdx.json.
receipt-bridge: embedded-library libyaml *
END

# The service starts only when it is enabled, because it needs secrets first. What runs is restarted by an upgrade.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    [ -z "$2" ] || deb-systemd-invoke try-restart receipt-bridge.service >/dev/null || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop receipt-bridge.service >/dev/null || true
fi
END
# DynamicUser= keeps the store below /var/lib/private. It is removed by a purge only, as are configuration and secrets.
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ "$1" = purge ]; then
    ! command -v deb-systemd-helper >/dev/null || deb-systemd-helper purge receipt-bridge.service >/dev/null || true
    rm -f /etc/systemd/system/multi-user.target.wants/receipt-bridge.service
    rm -rf /etc/receipt-bridge /var/lib/receipt-bridge /var/lib/private/receipt-bridge
fi
END
chmod 0755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"
echo /etc/receipt-bridge/receipt-bridge.yaml >"$root/DEBIAN/conffiles"

# Debian 13 and Ubuntu 24.04 have some libraries under names with t64.
mkdir "$work/debian"
printf 'Source: receipt-bridge\n\nPackage: receipt-bridge\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/receipt-bridge |
    sed -E 's/^shlibs:Depends=//; s/\b(libcurl4|libssl3)(t64)?( \([^)]*\))/\1\3 | \1t64\3/g')
cat >"$root/DEBIAN/control" <<END
Package: receipt-bridge
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: ca-certificates, $libraries
Recommends: tzdata
Suggests: libpq5
Section: net
Priority: optional
Description: proxy for the deprecated verifyReceipt endpoint of the App Store
 Answers old versions of apps that post receipts to verifyReceipt from the App
 Store Server API, and converts stored receipts to transactions.
 .
 The service is enabled by the administrator, when the configuration in
 /etc/receipt-bridge and its secrets are complete.
END
(cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\n' | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
package=$out/receipt-bridge_${version}_$architecture.deb
dpkg-deb --root-owner-group "-Z${COMPRESSION:-xz}" --threads-max=1 --build "$root" "$package" >&2
echo "$package"

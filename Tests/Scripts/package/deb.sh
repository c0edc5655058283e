#!/bin/sh
# Packs the binary of `make static`, its manual page, completions, the service and a configuration into a Debian package. Prints its path.
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
# Between releases every commit has a version of its own, which sorts before the next release and by the date of the commit.
version=$(python3 Tests/Scripts/package/release.py --version)
case $version in
*-dev) version=${version%-dev}~git$(git log -1 --format=%cd.%h --abbrev=12 --date=format:%Y%m%d%H%M%S 2>/dev/null || echo 0) ;;
esac
version=${VERSION:-$version}-1
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
install -d "$root/usr/lib/systemd/system" "$root/usr/share/doc/receipt-bridge" "$root/usr/share/lintian/overrides" \
    "$root/etc/receipt-bridge" "$root/DEBIAN"
sed 's|/usr/local/bin|/usr/bin|' docs/systemd/receipt-bridge.service >"$root/usr/lib/systemd/system/receipt-bridge.service"
cat >"$root/etc/receipt-bridge/receipt-bridge.yaml" <<'END'
listen: 127.0.0.1:8080 # behind nginx, or 0.0.0.0:8443 with `tls:`
store: sqlite:/var/lib/receipt-bridge/receipt-bridge.sqlite # the only folder that the service can write
#apps: [{bundleId: com.example.app, sharedSecret: {file: /run/credentials/receipt-bridge.service/secrets_app-secret}}]
END

documents=$root/usr/share/doc/receipt-bridge
gzip -n -9 <CHANGELOG.md >"$documents/changelog.gz"
# One entry for this version and for each earlier release: VERSION DATE
entry() {
    printf 'receipt-bridge (%s) unstable; urgency=medium\n\n  * changelog.gz has the changes.\n\n -- %s  %s\n\n' "$1" "$maintainer" "$(date -R -d "$2")"
}
{
    entry "$version" "@$SOURCE_DATE_EPOCH"
    sed -n 's/^## \[\([0-9.]*\)\] - \(.*\)/\1 \2/p' CHANGELOG.md | while read -r release date; do
        [ "$release-1" = "$version" ] || entry "$release-1" "$date"
    done
} | gzip -n -9 >"$documents/changelog.Debian.gz"
python3 Tests/Scripts/package/components.py --sbom "$tool" >"$documents/sbom.cdx.json"
python3 Tests/Scripts/package/components.py --notices | gzip -n -9 >"$documents/THIRD-PARTY-NOTICES.gz"
cat >"$documents/copyright" <<'END'
Copyright 2026, the owner of Receipt Bridge, who has not chosen a license yet: ask before you use or distribute it.
It contains packages and libraries of others. THIRD-PARTY-NOTICES.gz has their licenses and notices, sbom.cdx.json their versions.
Most are under Apache-2.0, whose text is also in /usr/share/common-licenses/Apache-2.0.
END
cat >"$root/usr/share/lintian/overrides/receipt-bridge" <<'END'
# Yams contains it; its version is in sbom.cdx.json.
receipt-bridge: embedded-library libyaml *
END

# The service starts only when it is enabled, because it needs secrets first. What runs is restarted by an upgrade.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    [ -d /etc/receipt-bridge/secrets ] || install -d -m 0700 /etc/receipt-bridge/secrets
fi
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

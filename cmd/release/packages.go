package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

func (r *release) deb(p programs, dist string) (string, error) {
	return r.pack(p, dist, "deb", deb.Default)
}

func (r *release) rpm(p programs, dist string) (string, error) {
	return r.pack(p, dist, "rpm", rpm.DefaultRPM)
}

// homepage is the project's address.
const homepage = "https://github.com/hiregate/hiregate"

// pack writes a package with the gateway, its unit, a Caddyfile to start from, and the documents. The file of the secrets is
// none of the package's: purging it would delete the key to everything sealed. The script makes it.
func (r *release) pack(p programs, dist, format string, packager nfpm.Packager) (string, error) {
	// A packager fills in paths and sizes, so that each gets a description of its own.
	info := r.describe(p)
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return "", err
	}
	name := packager.ConventionalFileName(info)
	return name, writeFile(filepath.Join(dist, name), func(w io.Writer) error { return packager.Package(info, w) })
}

// buildHost stands in an rpm in place of the name of the machine that packed it.
const buildHost = "reproducible.invalid"

func (r *release) describe(p programs) *nfpm.Info {
	deploy := filepath.Join(r.source, "deploy", "package")
	contents := files.Contents{
		r.content(p.gateway, "/usr/bin/hiregate", 0o755, ""),
		r.content(filepath.Join(r.source, "deploy", "hiregate.service"), "/usr/lib/systemd/system/hiregate.service", 0o644, ""),
		r.content(filepath.Join(deploy, "sysusers.conf"), "/usr/lib/sysusers.d/hiregate.conf", 0o644, ""),
		r.content(filepath.Join(r.source, "caddyfile", "partner.Caddyfile"), "/etc/hiregate/Caddyfile", 0o644, files.TypeConfigNoReplace),
		r.content(filepath.Join(r.source, "LICENSE"), "/usr/share/doc/hiregate/copyright", 0o644, ""),
	}
	for _, name := range r.documents.names() {
		contents = append(contents, r.content(r.documents[name], "/usr/share/doc/hiregate/"+name, 0o644, ""))
	}
	return nfpm.WithDefaults(&nfpm.Info{
		Name:        "hiregate",
		Arch:        p.arch,
		Version:     r.version,
		Section:     "net",
		Maintainer:  "The hiregate authors <hiregate@users.noreply.github.com>",
		Description: "The gateway between a recruiting service and its partners",
		Homepage:    homepage,
		License:     "Apache-2.0",
		MTime:       r.time,
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(deploy, "postinstall.sh"),
				PreRemove:   filepath.Join(deploy, "preremove.sh"),
				PostRemove:  filepath.Join(deploy, "postremove.sh"),
			},
			RPM: nfpm.RPM{BuildHost: buildHost},
			Deb: nfpm.Deb{Fields: map[string]string{"Bugs": homepage + "/issues"}},
		},
	})
}

func (r *release) content(source, destination string, mode os.FileMode, kind string) *files.Content {
	return &files.Content{Source: source, Destination: destination, Type: kind, FileInfo: &files.ContentFileInfo{
		Owner: "root", Group: "root", Mode: mode, MTime: r.time,
	}}
}

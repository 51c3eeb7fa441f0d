package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// texts are the patterns of what lies beside the programs in archives and packages, at the same paths as in the clone.
// The pictures of the pages are added.
var texts = []string{
	"README.md", "CHANGELOG.md", "LICENSE", "docs/*.md", "caddyfile/*.Caddyfile", "testdata/samples/*", "docker-compose.yml",
	"deploy/*.example", "deploy/*.service", "deploy/*.yml", "deploy/*.Caddyfile", "deploy/*/*.yml", "deploy/*/*.yaml",
	"deploy/*/*.json", "deploy/kubernetes/Caddyfile", "deploy/kubernetes/secrets.env", "deploy/grafana/provisioning/*/*.yml",
}

var link = regexp.MustCompile(`(!?\[[^\]]*\]\()([^)#\s]+)`)

// documents maps paths in the clone, with slashes, to files. A file of which only a link was changed has its content
// in another folder.
type documents map[string]string

// collect finds the texts. It writes into folder those pages that link to files that are left out: there the links lead to the
// project's address.
func (r *release) collect(folder string) (documents, error) {
	all := documents{}
	for _, pattern := range texts {
		files, err := filepath.Glob(filepath.Join(r.source, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		if files == nil {
			return nil, fmt.Errorf("there is no %s to put into the archive", pattern)
		}
		for _, file := range files {
			name, err := filepath.Rel(r.source, file)
			if err != nil {
				return nil, err
			}
			all[filepath.ToSlash(name)] = file
		}
	}
	for _, page := range all.names() {
		if path.Ext(page) != ".md" {
			continue
		}
		if err := r.lead(page, all, folder); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lead adds the pictures of a page to all, and has its other links lead somewhere.
func (r *release) lead(page string, all documents, folder string) error {
	content, err := os.ReadFile(all[page])
	if err != nil {
		return err
	}
	changed := link.ReplaceAllStringFunc(string(content), func(found string) string {
		parts := link.FindStringSubmatch(found)
		target := path.Join(path.Dir(page), parts[2])
		switch {
		case strings.Contains(parts[2], ":") || all.has(target):
			return found
		case path.Ext(target) == ".png":
			all[target] = filepath.Join(r.source, filepath.FromSlash(target))
			return found
		}
		return parts[1] + homepage + "/blob/v" + r.version + "/" + target
	})
	if changed == string(content) {
		return nil
	}
	all[page] = filepath.Join(folder, strings.ReplaceAll(page, "/", "_"))
	return os.WriteFile(all[page], []byte(changed), 0o644)
}

// has reports whether there is such a file, or a folder with one.
func (d documents) has(name string) bool {
	if _, ok := d[name]; ok {
		return true
	}
	return slices.ContainsFunc(d.names(), func(other string) bool { return strings.HasPrefix(other, name+"/") })
}

func (d documents) names() []string { return slices.Sorted(maps.Keys(d)) }

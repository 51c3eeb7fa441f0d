package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// components writes a CycloneDX document with the modules that the programs of an artifact are compiled from, as Go
// recorded them in each.
func (r *release) components(artifact string, programs []string, path string) error {
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{BOMRef: artifact, Type: cdx.ComponentTypeApplication, Name: artifact, Version: r.version},
	}
	libraries := map[string]cdx.Component{} // by package URL
	dependencies := []cdx.Dependency{}
	var main []string
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(program), ".exe")
		reference := fmt.Sprintf("pkg:golang/%s@%s", info.Path, r.version)
		main = append(main, reference)
		libraries[reference] = cdx.Component{BOMRef: reference, Type: cdx.ComponentTypeApplication, Name: name, Version: r.version, PackageURL: reference}
		uses := []string{}
		for _, module := range append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...) {
			if module.Replace != nil {
				module = module.Replace
			}
			if module.Version == "" || strings.HasPrefix(module.Path, ".") { // hiregate itself, from the clone
				continue
			}
			url := fmt.Sprintf("pkg:golang/%s@%s", module.Path, module.Version)
			libraries[url] = cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url}
			uses = append(uses, url)
		}
		slices.Sort(uses)
		dependencies = append(dependencies, cdx.Dependency{Ref: reference, Dependencies: &uses})
	}
	dependencies = append([]cdx.Dependency{{Ref: artifact, Dependencies: &main}}, dependencies...)
	components := make([]cdx.Component, 0, len(libraries))
	for _, library := range libraries {
		components = append(components, library)
	}
	slices.SortFunc(components, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom.Components, bom.Dependencies = &components, &dependencies
	return writeFile(path, func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// imageUser is the number of the user and of the group that the Dockerfile's USER names.
const imageUser = 65532

// image writes an image that `docker load` takes: what the last stage of the Dockerfile says, around the compiled gateway.
func (r *release) image(p programs, dist string) (string, error) {
	config, err := r.lastStage()
	if err != nil {
		return "", fmt.Errorf("reading the Dockerfile: %w", err)
	}
	content, err := r.layer(p.gateway, config.Volumes)
	if err != nil {
		return "", err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return "", err
	}
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: p.os, Architecture: p.arch, Config: *config,
		Created: v1.Time{Time: r.time}})
	if err != nil {
		return "", err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make release"}})
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag("hiregate:" + r.version)
	if err != nil {
		return "", err
	}
	file := fmt.Sprintf("hiregate_%s_%s_%s.image.tar", r.version, p.os, p.arch)
	return file, tarball.WriteToFile(filepath.Join(dist, file), tag, image)
}

// layer is a tar archive with the gateway, and with the folders of the volumes, which new volumes take their owner from.
func (r *release) layer(gateway string, volumes map[string]struct{}) ([]byte, error) {
	program, err := os.ReadFile(gateway)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	folder := func(path string, mode int64, owner int) error {
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(path, "/") + "/", Mode: mode, Uid: owner,
			Gid: owner, ModTime: r.time})
	}
	for _, parent := range []string{"usr", "usr/bin", "var", "var/lib"} {
		err = errors.Join(err, folder(parent, 0o755, 0))
	}
	for _, volume := range slices.Sorted(maps.Keys(volumes)) {
		err = errors.Join(err, folder(volume, 0o700, imageUser))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Name: "usr/bin/hiregate", Mode: 0o755, Size: int64(len(program)), ModTime: r.time}))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	return layer.Bytes(), w.Close()
}

// lastStage reads what the image of the Dockerfile is configured with.
func (r *release) lastStage() (*v1.Config, error) {
	text, err := os.Open(filepath.Join(r.source, "Dockerfile"))
	if err != nil {
		return nil, err
	}
	defer text.Close()
	parsed, err := parser.Parse(text)
	if err != nil {
		return nil, err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return nil, err
	}
	config := &v1.Config{Labels: map[string]string{}, Volumes: map[string]struct{}{}, ExposedPorts: map[string]struct{}{}}
	lex := shell.NewLex('\\')
	unquote := func(word string) (string, error) {
		word, _, err := lex.ProcessWord(word, shell.EnvsFromSlice([]string{"VERSION=" + r.version}))
		return word, err
	}
	for _, command := range stages[len(stages)-1].Commands {
		if quoted, ok := command.(instructions.SupportsSingleWordExpansion); ok {
			if err := quoted.Expand(unquote); err != nil {
				return nil, err
			}
		}
		switch c := command.(type) {
		case *instructions.CopyCommand: // layer does it
		case *instructions.ArgCommand: // VERSION, which is known
		case *instructions.LabelCommand:
			for _, label := range c.Labels {
				config.Labels[label.Key] = label.Value
			}
		case *instructions.EnvCommand:
			for _, variable := range c.Env {
				config.Env = append(config.Env, variable.Key+"="+variable.Value)
			}
		case *instructions.UserCommand:
			if c.User != fmt.Sprintf("%d:%[1]d", imageUser) {
				return nil, fmt.Errorf("USER is %s, and the folders of the image would belong to %d", c.User, imageUser)
			}
			config.User = c.User
		case *instructions.VolumeCommand:
			for _, volume := range c.Volumes {
				config.Volumes[volume] = struct{}{}
			}
		case *instructions.ExposeCommand:
			for _, port := range c.Ports {
				config.ExposedPorts[port+"/tcp"] = struct{}{}
			}
		case *instructions.StopSignalCommand:
			config.StopSignal = c.Signal
		case *instructions.HealthCheckCommand:
			config.Healthcheck = &v1.HealthConfig{Test: c.Health.Test, Interval: c.Health.Interval, Timeout: c.Health.Timeout,
				StartPeriod: c.Health.StartPeriod, Retries: c.Health.Retries}
		case *instructions.EntrypointCommand:
			config.Entrypoint = c.CmdLine
		case *instructions.CmdCommand:
			config.Cmd = c.CmdLine
		default:
			return nil, fmt.Errorf("%s in its last stage is new to make release: add it to cmd/release/image.go", command.Name())
		}
	}
	return config, nil
}

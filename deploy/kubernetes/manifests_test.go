// Package kubernetes tests the manifests that run several gateways in a Kubernetes cluster. It is a module of its own, for the
// types of Kubernetes.
package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// objects reads every manifest into the types of Kubernetes. What they don't have is an error, such as a misspelt field.
func objects(t *testing.T) map[schema.GroupVersionKind]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, core.AddToScheme, networking.AddToScheme, policy.AddToScheme,
		monitoring.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	found := map[schema.GroupVersionKind]runtime.Object{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		if file == ruleHead {
			content = rule(t)
		}
		for documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content))); ; {
			document := make([]byte, len(content))
			n, err := documents.Read(document)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			object, kind, err := decoder.Decode(document[:n], nil, nil)
			require.NoError(t, err, file)
			require.NotContains(t, found, *kind)
			found[*kind] = object
		}
	}
	return found
}

const ruleHead = "rule.head.yaml"

// rule puts the PrometheusRule together with the command in the head of gateway.yaml.
func rule(t *testing.T) []byte {
	t.Helper()
	manifest, err := os.ReadFile("gateway.yaml")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^#\t(\{ cat .*\}) \|`).FindSubmatch(manifest)
	require.NotNil(t, command)
	content, err := exec.Command("sh", "-c", string(command[1])).Output()
	require.NoError(t, err)
	return content
}

func TestPrometheusRule(t *testing.T) {
	rule := get[*monitoring.PrometheusRule](t, objects(t), monitoring.SchemeGroupVersion.WithKind("PrometheusRule"))
	require.NotEmpty(t, rule.Spec.Groups)
	for _, group := range rule.Spec.Groups {
		require.NotEmpty(t, group.Rules, group.Name)
	}
}

func TestManifests(t *testing.T) {
	found := objects(t)
	deployment := get[*apps.Deployment](t, found, apps.SchemeGroupVersion.WithKind("Deployment"))
	template := deployment.Spec.Template
	require.Len(t, template.Spec.Containers, 1)
	gateway := template.Spec.Containers[0]
	ports := map[string]bool{}
	for _, port := range gateway.Ports {
		ports[port.Name] = true
	}

	// Everything that selects pods selects these.
	service := get[*core.Service](t, found, core.SchemeGroupVersion.WithKind("Service"))
	network := get[*networking.NetworkPolicy](t, found, networking.SchemeGroupVersion.WithKind("NetworkPolicy"))
	budget := get[*policy.PodDisruptionBudget](t, found, policy.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
	for _, selector := range []map[string]string{deployment.Spec.Selector.MatchLabels, service.Spec.Selector,
		network.Spec.PodSelector.MatchLabels, budget.Spec.Selector.MatchLabels} {
		require.NotEmpty(t, selector)
		require.True(t, labels.SelectorFromSet(selector).Matches(labels.Set(template.Labels)))
	}
	require.Less(t, budget.Spec.MinAvailable.IntVal, *deployment.Spec.Replicas, "no node could ever be drained")

	// Every port that is named is one of the container's.
	for _, port := range service.Spec.Ports {
		require.True(t, ports[port.TargetPort.StrVal], port.Name)
	}
	for _, rule := range network.Spec.Ingress {
		for _, port := range rule.Ports {
			require.True(t, ports[port.Port.StrVal], port.Port.String())
		}
	}
	for _, probe := range []*core.Probe{gateway.StartupProbe, gateway.ReadinessProbe, gateway.LivenessProbe} {
		require.True(t, ports[probe.HTTPGet.Port.StrVal])
	}
	monitor := get[*monitoring.ServiceMonitor](t, found, monitoring.SchemeGroupVersion.WithKind("ServiceMonitor"))
	require.True(t, labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)))
	names := map[string]bool{}
	for _, port := range service.Spec.Ports {
		names[port.Name] = true
	}
	for _, endpoint := range monitor.Spec.Endpoints {
		require.True(t, names[endpoint.Port])
	}

	// The grace period is longer than all that a stop waits for: preStop, shutdown_delay, grace_period and deliveries.
	stop := gateway.Lifecycle.PreStop.Sleep.Seconds + 5 + 30 + 25
	require.Greater(t, *template.Spec.TerminationGracePeriodSeconds, stop)
	caddyfile, err := os.ReadFile("Caddyfile")
	require.NoError(t, err)
	require.Contains(t, string(caddyfile), "\tshutdown_delay 5s\n")
	require.Contains(t, string(caddyfile), "\tgrace_period 30s\n")
}

func get[T runtime.Object](t *testing.T, found map[schema.GroupVersionKind]runtime.Object, kind schema.GroupVersionKind) T {
	t.Helper()
	object, ok := found[kind].(T)
	require.True(t, ok, "there is no %s", kind)
	return object
}

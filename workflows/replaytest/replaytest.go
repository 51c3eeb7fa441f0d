// Package replaytest looks at recorded histories: that the code of today agrees with them, and that they hold nothing
// of a candidate. The histories are the JSON that Temporal's tools write.
package replaytest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Run replays every history in the calling test's package, testdata/RELEASE/NAME.json, with these workflows, by name, and
// looks for the candidate of testdata/samples/export-full.json in them. The inputs in the histories must be read whole into
// values of these types, by the name of the workflow or the activity.
func Run(t *testing.T, fns, inputs map[string]any) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there are no recorded histories: CONTRIBUTING.md says how to record them")
	sample, err := os.ReadFile(filepath.Join("..", "..", "testdata", "samples", "export-full.json"))
	require.NoError(t, err)
	words := Personal(t, sample)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			for name, fn := range fns {
				replayer.RegisterWorkflowWithOptions(fn, workflow.RegisterOptions{Name: name})
			}
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(nil, file))
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			requireInputs(t, inputs, raw)
			RequireNothingOf(t, words, raw)
		})
	}
}

// requireInputs fails when an input of a history can't be read, or has a field that is not known any more.
func requireInputs(t *testing.T, inputs map[string]any, raw []byte) {
	t.Helper()
	history, err := client.HistoryFromJSON(bytes.NewReader(raw), client.HistoryJSONOptions{})
	require.NoError(t, err)
	read := func(name string, input *common.Payloads) {
		require.Contains(t, inputs, name)
		decoder := json.NewDecoder(bytes.NewReader(input.GetPayloads()[0].GetData()))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(reflect.New(reflect.TypeOf(inputs[name])).Interface()), "the input of %s", name)
	}
	for _, event := range history.GetEvents() {
		if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			read(started.GetWorkflowType().GetName(), started.GetInput())
		}
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			read(scheduled.GetActivityType().GetName(), scheduled.GetInput())
		}
	}
}

// RequireNothingOf fails when one of the words is anywhere in a history, its payloads included.
func RequireNothingOf(t *testing.T, words []string, history []byte) {
	t.Helper()
	texts := Texts(t, history)
	require.Greater(t, len(texts), 10, "a history without texts was not read as one")
	for _, text := range texts {
		for _, word := range words {
			require.NotContains(t, text, word, "the history holds something of a candidate")
		}
	}
}

// Texts are all strings of a history; the base64 data of a payload also decoded.
func Texts(t *testing.T, history []byte) (texts []string) {
	t.Helper()
	eachString(t, history, func(s string) {
		texts = append(texts, s)
		if data, err := base64.StdEncoding.DecodeString(s); err == nil {
			texts = append(texts, string(data))
		}
	})
	return texts
}

// Personal are the texts of an export that must be nowhere but in the store: everything but the contract's own words
// and what is too short to tell apart.
func Personal(t *testing.T, export []byte) (words []string) {
	t.Helper()
	eachString(t, export, func(s string) {
		if len(s) >= 5 && !strings.HasPrefix(s, "Service") && s != "state" && s != "startDate" && s != "number" {
			words = append(words, s)
		}
	})
	require.Greater(t, len(words), 20, "an export without texts was not read as one")
	return words
}

// What a time, a port or a UUID of no candidate may hold: short ids, where the contract leaves the text free, and
// dates.
var (
	shortID = regexp.MustCompile(`("value"|"postalCode"): "([0-9a-f]{1,8}(-[0-9a-f]{1,4})?)"`)
	date    = regexp.MustCompile(`"\d{4}(-\d\d-\d\d)"`)
)

// Unmistakable is an export none of whose ids and dates stands in another text by chance.
func Unmistakable(export []byte) []byte {
	export = shortID.ReplaceAll(export, []byte(`$1: "marked-$2"`))
	return date.ReplaceAll(export, []byte(`"1931$1"`))
}

// eachString visits every string in a JSON text that is a member's value or an array's element.
func eachString(t *testing.T, text []byte, visit func(string)) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	walk(v, visit)
}

func walk(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, one := range v {
			walk(one, visit)
		}
	case map[string]any:
		for _, one := range v {
			walk(one, visit)
		}
	}
}

package schemas

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkExport is what the door does to every export: guard, validate, both.
func BenchmarkExport(b *testing.B) {
	body := sample(b, "export-full.json")
	v, doc := validator(b, "Service"), guarded(b, body)
	require.Empty(b, v.Export(doc))

	b.Run("guard", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = Guard(body)
		}
	})
	b.Run("validate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = v.Export(doc)
		}
	})
	b.Run("both", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			doc, _ := Guard(body)
			_ = v.Export(doc)
		}
	})
	b.Run("encoding-json", func(b *testing.B) { // for comparison: decoding without a guard
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			var value any
			_ = json.Unmarshal(body, &value)
		}
	})
}

// BenchmarkFaults is the worst that a signed body within the cap can ask of the validator.
func BenchmarkFaults(b *testing.B) {
	v, doc := validator(b, "Service"), guarded(b, faulty(9, 9_999))
	b.ReportAllocs()
	for b.Loop() {
		require.Len(b, v.Export(doc), MaxFindings)
	}
}

// faulty returns a body in which each of n lists holds m elements of the wrong type.
func faulty(n, m int) []byte {
	list := make([]int, m)
	var profiles []any
	for range n {
		profiles = append(profiles, map[string]any{"attachments": list})
	}
	body, _ := json.Marshal(map[string]any{"candidate": map[string]any{"profiles": profiles}})
	return body
}

package schemas

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/xeipuuv/gojsonschema"
)

//go:embed export.schema.json
var exportSchema string

//go:embed verification.schema.json
var verificationSchema string

// Validator checks Documents against the contract's two webhook bodies. It is safe for concurrent use.
type Validator struct {
	export, verification *schema
}

// New compiles the schemas for a maker's name, which must be an HTTP token (RFC 9110, section 5.6.2). It reads nothing
// but what is in the program.
func New(serviceName string) (*Validator, error) {
	if !token.MatchString(serviceName) {
		return nil, fmt.Errorf("service_name %q is not an HTTP token: use letters, digits and !#$%%&'*+-.^_`|~", serviceName)
	}
	export, err := compile(exportSchema, serviceName)
	if err != nil {
		return nil, fmt.Errorf("compiling the export schema: %w", err)
	}
	verification, err := compile(verificationSchema, serviceName)
	if err != nil {
		return nil, fmt.Errorf("compiling the verification schema: %w", err)
	}
	return &Validator{export: export, verification: verification}, nil
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// Export checks the body of a CANDIDATE-EXPORT to the letter. It returns nil if the body is valid, otherwise at most 50
// findings, sorted by pointer, then rule: to the letter, a deviation is a fault.
func (v *Validator) Export(d *Document) []Finding {
	faults, deviations := v.export.check(d)
	for _, f := range deviations {
		f.Deviation = ""
		faults = append(faults, f)
	}
	return first(faults)
}

// Received checks the body of a CANDIDATE-EXPORT that somebody else built: what breaks the contract is a fault or one of
// the listed deviations. It returns at most 50 faults, in the order of Export, and of the deviations at least one each.
func (v *Validator) Received(d *Document) (faults, deviations []Finding) { return v.export.check(d) }

// Verification checks the body of a VERIFY, as Export does.
func (v *Validator) Verification(d *Document) []Finding {
	faults, _ := v.verification.check(d)
	return faults
}

// compile compiles a schema for a maker's name.
func compile(source, serviceName string) (*schema, error) {
	// An HTTP token needs no escapes in JSON.
	source = strings.ReplaceAll(source, "{service_name}", serviceName)
	var document object
	if err := json.Unmarshal([]byte(source), &document); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	c := &compiler{literals: make(map[string]string), named: make(map[string]*schema)}
	c.sharpen(document)
	if _, err := load(document, true); err != nil {
		return nil, err
	}
	c.definitions, _ = document["definitions"].(object)
	return c.schema(document)
}

// load has the library compile a schema, and check it against the metaschema first.
func load(document object, check bool) (*gojsonschema.Schema, error) {
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft = gojsonschema.Draft7
	loader.AutoDetect = false
	loader.Validate = check
	return loader.Compile(gojsonschema.NewGoLoader(document))
}

// sharpen writes each const string and each enum of strings as a pattern that means the same. The library compares
// consts by writing both sides as JSON, reading that and writing it again, which is most of the time of a validation.
func (c *compiler) sharpen(node any) {
	switch n := node.(type) {
	case []any:
		for _, v := range n {
			c.sharpen(v)
		}
	case map[string]any:
		if literal, ok := n["const"].(string); ok && n["type"] == "string" {
			delete(n, "const")
			n["pattern"] = c.pattern("const: ", literal)
		}
		if literals, ok := n["enum"].([]any); ok && n["type"] == "string" {
			delete(n, "enum")
			n["pattern"] = c.pattern("one of: ", literals...)
		}
		for _, v := range n {
			c.sharpen(v)
		}
	}
}

func (c *compiler) pattern(rule string, literals ...any) string {
	var texts, patterns []string
	for _, l := range literals {
		texts = append(texts, fmt.Sprint(l))
		patterns = append(patterns, regexp.QuoteMeta(fmt.Sprint(l)))
	}
	pattern := `^(?:` + strings.Join(patterns, "|") + `)$`
	c.literals[pattern] = rule + strings.Join(texts, ", ")
	return pattern
}

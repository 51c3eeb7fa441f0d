package schemas

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"
)

//go:embed application.schema.json
var applicationSchema string

// MaxAnswers is how many answers an application may have.
const MaxAnswers = 1000

// What whoever reads an application as it arrives tells at once: sentences of envelope, and LongID of an id that is
// not read to its end.
const (
	NoApplication  = "an application is a JSON object"
	CodeIsText     = "jobBoardCode is a string: send the job board code of the job"
	SourceIsText   = "source is a string, which may be empty"
	LongSource     = "source is longer than 255 characters: shorten it"
	AnswersAreList = "answers are an array: send one"
	NoAnswer       = "an answer is an object with questionId and value"
	IDIsText       = "questionId is a string: send the id of a question"
	ValueIsText    = "the value of an answer is a string, which may be empty"
	LongID         = "questionId is longer than 1020 bytes: send the id of a question"
)

// envelope are the sentences about an application whose shape is wrong, in the order in which they are told. The keys
// are where in the body it is, * for the number of an answer, and what the library calls the fault, with the missing
// member's name.
var envelope = []struct{ at, fault, sentence string }{
	{"", "invalid_type", NoApplication},
	{"", "required jobBoardCode", "jobBoardCode is missing: send the job board code of the job"},
	{"/jobBoardCode", "invalid_type", CodeIsText},
	{"", "required source", "source is missing: send a text, which may be empty"},
	{"/source", "invalid_type", SourceIsText},
	{"/source", "string_lte", LongSource},
	{"", "required answers", "answers are missing: send an array"},
	{"/answers", "invalid_type", AnswersAreList},
	{"/answers", "array_max_items", "there are more than 1000 answers: leave some out"},
	{"/answers/*", "invalid_type", NoAnswer},
	{"/answers/*", "required questionId", "an answer has a questionId and a value, which are strings: a " +
		"questionId is missing"},
	{"/answers/*", "required value", "an answer has a questionId and a value, which are strings: a value is missing"},
	{"/answers/*/questionId", "invalid_type", IDIsText},
	{"/answers/*/value", "invalid_type", ValueIsText},
}

var compiledApplication = sync.OnceValue(func() *gojsonschema.Schema {
	var document any
	err := json.Unmarshal([]byte(applicationSchema), &document)
	if err == nil {
		var s *gojsonschema.Schema
		if s, err = compileDocument(document); err == nil {
			return s
		}
	}
	panic(fmt.Sprintf("the schema of applications: %v", err)) // it is a part of the program, and read by a test
})

// CheckApplication says what is wrong with the shape of an application request, in sentences; nil: nothing. The
// application is as encoding/json decodes it, with UseNumber. The values of answers may be left out of it: any string
// stands for them.
func CheckApplication(application any) []string {
	return checkApplication(compiledApplication(), application)
}

func checkApplication(s *gojsonschema.Schema, application any) []string {
	result, err := s.Validate(gojsonschema.NewRawLoader(application))
	if err != nil {
		return []string{Unchecked}
	}
	found := map[int]bool{}
	for _, e := range result.Errors() {
		fault := e.Type()
		if property, ok := e.Details()["property"]; ok {
			fault += " " + fmt.Sprint(property)
		}
		found[placeOf(e.Context().String("/"), fault)] = true
	}
	var sentences []string
	for n, rule := range envelope {
		if found[n] {
			sentences = append(sentences, rule.sentence)
		}
	}
	if found[-1] {
		sentences = append(sentences, Unchecked)
	}
	return sentences
}

// placeOf finds a fault in envelope, -1: it is not there.
func placeOf(pointer, fault string) int {
	steps := strings.Split(strings.TrimPrefix(pointer, gojsonschema.STRING_CONTEXT_ROOT), "/")
	if len(steps) > 2 {
		steps[2] = "*"
	}
	at := strings.Join(steps, "/")
	return slices.IndexFunc(envelope,
		func(rule struct{ at, fault, sentence string }) bool { return rule.at == at && rule.fault == fault })
}

// compileDocument compiles a schema of draft-07 that is whole in itself.
func compileDocument(document any) (*gojsonschema.Schema, error) {
	loader := gojsonschema.NewSchemaLoader()
	loader.Draft = gojsonschema.Draft7
	loader.AutoDetect = false
	loader.Validate = true
	return loader.Compile(gojsonschema.NewGoLoader(document))
}

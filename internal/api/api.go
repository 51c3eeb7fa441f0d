// Package api has the messages of the management API: what its requests and answers look like as JSON. The server, the
// console and the command line share them. Messages that are stored as they are shown, such as candidates and jobs, are
// types of internal/model.
//
// The schemas of the OpenAPI document are generated from these types. The comment of a type or field is its
// description; a field is required unless it is tagged omitempty or omitzero. A tag "schema" adds constraints,
// separated by spaces: minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems, pattern and
// format as in JSON Schema, enum with its values separated by |, and ref with the name of a schema that is written by
// hand. With "items." before it, a constraint is of each item. A field that answers always have, and requests may
// leave out, has the word optional, a field of the answer that makes a thing the word once. A type with model.Row
// requires in requests only what has the word required.
package api

//go:generate go run ./openapi .. ../../modules/manageapi/openapi

// CountedList is a page of a list, with how many there are if that was asked for.
type CountedList[T any] struct {
	List[T]
	Count *Count `json:"count,omitempty"`
}

// List is a page of a list.
type List[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"` // the cursor of the next page; null on the last one
}

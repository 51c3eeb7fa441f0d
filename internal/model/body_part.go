package model

// BodyPart is a part of an export's body: what kind of thing it is, without anything that it says.
type BodyPart struct {
	// Path leads to it: names and positions from 0, separated by slashes; empty: the whole body. A name that the schema
	// does not have may say something about a candidate, and is shown by its length: "(name of 12 characters)".
	Path string `json:"path"`
	Type string `json:"type" schema:"enum=object|array|string|number|boolean|null"`
	// Length is how many members an object has, items an array, characters a string.
	Length int `json:"length,omitzero"`
}

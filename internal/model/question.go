package model

// Question is one that a job asks its applicants (contract, "Question").
type Question struct {
	ID         string   `json:"id" schema:"minLength=1 maxLength=255"`
	Format     Format   `json:"format"`
	IsRequired bool     `json:"isRequired" schema:"optional"`
	Label      string   `json:"label"`
	Options    []string `json:"options" schema:"optional"`             // only of Checkbox and Select
	MaxLength  *int     `json:"maxLength" schema:"optional minimum=1"` // in Unicode code points; null: none
	// the compliance group that asks it; null: the job itself, and always null in a request
	Group *string `json:"group" schema:"optional"`
	// email: a Text question that wants an e-mail address; the Apply API does not show it
	Check string `json:"check,omitempty" schema:"enum=|email"`
}

// Format is how a question is answered.
type Format string

// The formats.
const (
	Checkbox Format = "Checkbox"
	Date     Format = "Date"
	File     Format = "File"
	Number   Format = "Number"
	Phone    Format = "Phone"
	Select   Format = "Select"
	Text     Format = "Text"
	Textarea Format = "Textarea"
)

// CheckEmail is the check of a Text question that wants an e-mail address.
const CheckEmail = "email"

package model

// Question is one that a job asks its applicants (contract, "Question").
type Question struct {
	ID         string   `json:"id"`
	Format     Format   `json:"format"`
	IsRequired bool     `json:"isRequired"`
	Label      string   `json:"label"`
	Options    []string `json:"options"`         // null but for Checkbox and Select
	MaxLength  *int     `json:"maxLength"`       // in Unicode code points; null: none
	Group      *string  `json:"group"`           // the compliance group; null: none
	Check      string   `json:"check,omitempty"` // CheckEmail, or empty; the Apply API does not show it
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

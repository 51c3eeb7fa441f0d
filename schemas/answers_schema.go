package schemas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// Resume is the id of the question whose file has a smaller limit and fewer types (contract, part C).
	Resume = "resume"
	// MaxFile is how many decoded bytes a file must have less than, MaxResume the file of the question resume.
	MaxFile   = 10 << 20
	MaxResume = 2 << 20

	maxShort  = 64 // characters of a number and of a phone number
	emailID   = "email"
	citizenID = "citizenWorkStatus"
	numbers   = `^[+-]?\d+(\.\d+)?$`
	schemaURI = "http://json-schema.org/draft-07/schema#"
)

// personal are the questions whose answers become the candidate's own.
var personal = []string{"firstName", "lastName", emailID, "phone", citizenID}

type object = map[string]any

// answersSchema writes the schema of the answers to questions. It is that of an object with an answer for each
// question's id:
//
//   - a string; those that are blank are left out, since blank counts as absent;
//   - for a Checkbox or Select question an object that says whether what was chosen is offered, see options.choiceOf: the
//     library would compare each choice with each option;
//   - for a File question an object with the file's size and mediaType.
func answersSchema(questions []model.Question) (object, error) {
	properties, required := object{}, []string{}
	for n := range questions {
		q := &questions[n]
		s, err := questionSchema(q)
		if err != nil {
			return nil, err
		}
		properties[q.ID] = s
		if q.IsRequired {
			required = append(required, q.ID)
		}
	}
	return object{"$schema": schemaURI, "type": "object", "properties": properties, "required": required,
		"additionalProperties": false}, nil
}

func questionSchema(q *model.Question) (any, error) {
	if strings.ContainsRune(q.ID, 0) {
		return nil, fmt.Errorf("the id of a question has the character U+0000: change it")
	}
	switch q.Format {
	case model.Checkbox, model.Select:
		most := len(q.Options) + 1
		if q.Format == model.Checkbox && q.ID == citizenID {
			most = maxCitizenShip
		}
		return object{"type": "object", "properties": object{"offered": object{"enum": []bool{true}},
			"repeated": object{"const": false}, "count": object{"maximum": most}}}, nil
	case model.Date:
		return object{"type": "string", "format": dateFormat}, nil
	case model.File:
		return fileSchema(q), nil
	case model.Number:
		return object{"type": "string", "maxLength": maxShort, "pattern": numbers}, nil
	case model.Phone:
		return text(q, maxShort, phoneFormat), nil
	case model.Text, model.Textarea:
		limit := -1
		if q.MaxLength != nil {
			limit = *q.MaxLength
		}
		if q.ID == emailID || q.Check == model.CheckEmail {
			if limit < 0 || limit > maxEmail {
				limit = maxEmail
			}
			return text(q, limit, emailFormat), nil
		}
		return text(q, limit), nil
	}
	return nil, fmt.Errorf("question %s has the format %q, which there is not: use one of the contract", q.ID, q.Format)
}

// choice is the schema of the object that options.choiceOf makes of an answer.
func choice(offered, repeated bool, count int) object {
	return object{"offered": offered, "repeated": repeated, "count": json.Number(strconv.Itoa(count))}
}

// text is the schema of a string of at most limit code points, unless that is negative. A schema can only name one
// format.
func text(q *model.Question, limit int, formats ...string) object {
	if slices.Contains(personal, q.ID) {
		formats = append(formats, storableFormat, personalFormat, seenFormat)
	}
	s := object{"type": "string"}
	if len(formats) > 0 {
		all := make([]object, len(formats))
		for n, f := range formats {
			all[n] = object{"format": f}
		}
		s["allOf"] = all
	}
	if limit >= 0 {
		s["maxLength"] = limit
	}
	return s
}

// fileSchema looks at the type only of a file whose size is right.
func fileSchema(q *model.Question) object {
	types := filetype.All()
	if q.ID == Resume {
		types = filetype.ForResume()
	}
	size := object{"minimum": 1, "exclusiveMaximum": FileLimit(q)}
	return object{
		"type":       "object",
		"required":   []string{"size"},
		"properties": object{"size": size},
		"if":         object{"properties": object{"size": size}},
		"then":       object{"required": []string{"mediaType"}, "properties": object{"mediaType": object{"enum": types}}},
	}
}

// What the answers of an application that are not files may have, in bytes: one of them, and all together.
const (
	MaxText  = 1 << 20
	MaxTexts = 4 << 20
)

// FileLimit returns the number of decoded bytes that the file that answers a question must stay below.
func FileLimit(q *model.Question) int64 {
	if q.ID == Resume {
		return MaxResume
	}
	return MaxFile
}

// valueOf gives what stands for an answer in the object that the schema looks at; false: it counts as absent.
func valueOf(q *model.Question, offered options, a *Answer) (any, bool) {
	if a.File != nil {
		return object{"size": json.Number(strconv.FormatInt(a.File.Size, 10)), "mediaType": a.File.MediaType}, true
	}
	if strings.TrimSpace(a.Text) == "" {
		return nil, false
	}
	if q.Format == model.Checkbox || q.Format == model.Select {
		return offered.choiceOf(q, a.Text), true
	}
	return a.Text, true
}

package schemas

import (
	"fmt"
	"hash/maphash"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Whether a body is valid depends on its shape alone: which members there are and of which type, and for a string whether it is
// one of the schema's own words, a date, or a datetime. What else a string says plays no part, and neither does how often a
// thing of the same shape stands in an array. The exports of a service have few shapes, so the shapes that were found valid are
// remembered, and the library is asked about the others.
//
// This holds for the keywords that learn knows; a schema with any other is refused when it is compiled.
type shapes struct {
	seed  maphash.Seed
	salt  uint64
	words [][]word                  // the schema's consts and enums, by their length
	names [][]memberName            // those of its members, by their length
	bits  int                       // of memberName that are given away
	kinds [shapeDatetime + 1]uint64 // the shapes of scalars that are no words
	valid *lru.Cache[uint64, struct{}]
}

type word struct {
	text  string
	shape uint64
}

// memberName is a name that the schema gives to members.
type memberName struct {
	text string
	hash uint64 // as ofName has it
	bit  uint64 // one, its own
}

// rememberedShapes bounds how many valid shapes are remembered.
const rememberedShapes = 4096

// shapeKeywords need nothing to be learned of them.
var shapeKeywords = []string{"$schema", "$id", "$ref", "title", "required"}

func newShapes(schema any) (*shapes, error) {
	seed := maphash.MakeSeed()
	s := &shapes{seed: seed, salt: maphash.String(seed, "salt")}
	for kind := range s.kinds {
		s.kinds[kind] = s.mix(uint64(kind), 0)
	}
	if err := s.learn(schema); err != nil {
		return nil, err
	}
	var err error
	s.valid, err = lru.New[uint64, struct{}](rememberedShapes)
	return s, err
}

// learn collects the words of a schema, and refuses keywords that look at more than the shape.
func (s *shapes) learn(schema any) error {
	node, ok := schema.(map[string]any)
	if !ok {
		return fmt.Errorf("a schema that is a %T, not an object", schema)
	}
	for keyword, value := range node {
		var below []any
		switch keyword {
		case "properties", "definitions":
			for name, one := range value.(map[string]any) {
				below = append(below, one)
				if keyword == "properties" {
					s.learnName(name)
				}
			}
		case "items", "if", "then", "else", "not":
			below = []any{value}
		case "allOf", "anyOf", "oneOf":
			below = value.([]any)
		case "const", "enum":
			words, ok := value.([]any)
			if !ok {
				words = []any{value}
			}
			for _, one := range words {
				text, ok := one.(string)
				if !ok {
					return fmt.Errorf("%s %v, which is no string", keyword, one)
				}
				among := ofLength(&s.words, len(text))
				if !slices.ContainsFunc(*among, func(w word) bool { return w.text == text }) {
					*among = append(*among, word{text, s.mix(shapeWord, uint64(len(text))<<32|uint64(len(*among)))})
				}
			}
		case "type":
			if value == "integer" {
				return fmt.Errorf("type integer, which a shape does not tell from number")
			}
		case "format":
			if value != dateFormat && value != datetimeFormat {
				return fmt.Errorf("format %v, which a shape does not tell", value)
			}
		default:
			if !slices.Contains(shapeKeywords, keyword) {
				return fmt.Errorf("keyword %s, which looks at more than a shape", keyword)
			}
		}
		for _, one := range below {
			if err := s.learn(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// learnName gives a name its bit, while there are any left: the others are read as names that the schema does not have.
func (s *shapes) learnName(name string) {
	if s.known([]byte(name)) != nil || s.bits == 64 {
		return
	}
	among := ofLength(&s.names, len(name))
	*among = append(*among, memberName{name, s.ofName([]byte(name)), 1 << s.bits})
	s.bits++
}

// ofLength is the place of what has a length, in bytes.
func ofLength[T any](all *[][]T, length int) *[]T {
	*all = append(*all, make([][]T, max(0, length+1-len(*all)))...)
	return &(*all)[length]
}

// known finds a name of the schema's, and nil for any other. Without shapes there are none.
func (s *shapes) known(name []byte) *memberName {
	if s == nil || len(name) >= len(s.names) {
		return nil
	}
	among := s.names[len(name)]
	for n := range among {
		if among[n].text == string(name) {
			return &among[n]
		}
	}
	return nil
}

// The kinds of values, beside the words.
const (
	shapeNull uint64 = iota
	shapeBool
	shapeNumber
	shapeString
	shapeDate
	shapeDatetime
	shapeArray
	shapeObject
	shapeWord
)

// of is the shape of a value as the guard decoded it.
func (s *shapes) of(value any) uint64 {
	switch v := value.(type) {
	case string:
		return s.ofString([]byte(v))
	case map[string]any:
		sum := uint64(0)
		for name, member := range v { // in no order: the sum has none
			sum += s.mix(s.ofName([]byte(name)), s.of(member))
		}
		return s.mix(shapeObject, sum)
	case []any:
		return s.ofArray(v)
	case nil:
		return s.kinds[shapeNull]
	case bool:
		return s.kinds[shapeBool]
	default:
		return s.kinds[shapeNumber]
	}
}

func (s *shapes) ofString(text []byte) uint64 {
	if len(text) < len(s.words) {
		for _, word := range s.words[len(text)] {
			if string(text) == word.text {
				return word.shape
			}
		}
	}
	switch {
	case len(text) == dateLength && isDate(string(text)):
		return s.kinds[shapeDate]
	case len(text) == datetimeLength && isDatetime(string(text)):
		return s.kinds[shapeDatetime]
	}
	return s.kinds[shapeString]
}

// ofName is what mix takes for a member's name, before the shape of its value.
func (s *shapes) ofName(name []byte) uint64 { return maphash.Bytes(s.seed, name) }

func (s *shapes) ofArray(elements []any) uint64 {
	var few [8]uint64
	found := few[:0]
	for _, element := range elements {
		found = append(found, s.of(element))
	}
	return s.ofElements(found)
}

// ofElements is the shape of an array with elements of these shapes, whose order it changes: it goes by their set.
func (s *shapes) ofElements(found []uint64) uint64 {
	slices.Sort(found)
	sum := uint64(0)
	for n, shape := range found {
		if n == 0 || shape != found[n-1] {
			sum += s.mix(shape, 0)
		}
	}
	return s.mix(shapeArray, sum)
}

// mix makes one hash of two numbers, salted anew in every process: nobody outside can make one shape pass for another.
func (s *shapes) mix(a, b uint64) uint64 {
	h := (a^s.salt)*0xbf58476d1ce4e5b9 ^ (b+s.salt)*0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>29
}

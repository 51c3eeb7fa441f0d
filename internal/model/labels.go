package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Labels are words by which tenants are grouped, such as region=north.
type Labels map[string]string

// MaxLabels is how many labels a tenant has at most.
const MaxLabels = 10

var (
	labelName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)
	labelValue = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)
)

// Validate says which rule of labels is broken; nil: none.
func (l Labels) Validate() error {
	if len(l) > MaxLabels {
		return fmt.Errorf("there are more than %d labels: remove some", MaxLabels)
	}
	for name, value := range l {
		if !labelName.MatchString(name) || !labelValue.MatchString(value) {
			return fmt.Errorf("label %.40q is none: write a name of small letters, digits and _, and a value of letters, digits, "+
				"dots, _ and -, such as region=north", name+"="+value)
		}
	}
	return nil
}

// ParseLabels reads labels that are written as region=north.
func ParseLabels(words []string) (Labels, error) {
	l := Labels{}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		if _, twice := l[name]; twice {
			return nil, fmt.Errorf("label %.40q is there twice: give it one value", name)
		}
		l[name] = value
	}
	return l, l.Validate()
}

// Words returns the labels as they are written, by name.
func (l Labels) Words() (words []string) {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		words = append(words, name+"="+l[name])
	}
	return words
}

// Has reports whether each of some labels is among these, with its value.
func (l Labels) Has(some Labels) bool {
	for name, value := range some {
		if l[name] != value {
			return false
		}
	}
	return true
}

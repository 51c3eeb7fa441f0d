// Package modeltest makes values of the model for tests.
package modeltest

import (
	"fmt"
	"reflect"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Options returns options of an integration, each of them set.
func Options() (o model.Options) {
	for field, value := range reflect.ValueOf(&o).Elem().Fields() {
		switch to := value.Addr().Interface().(type) {
		case *bool:
			*to = true
		case *int:
			*to = 7
		case *string:
			*to = field.Name
		case *model.DocumentMode:
			*to = model.Inline
		case **model.Rate:
			*to = &model.Rate{PerSecond: 2, Burst: 5}
		case *model.Schedule:
			*to = model.Schedule{5 * time.Second, time.Minute}
		default:
			panic(fmt.Sprintf("modeltest: say what model.Options.%s may be", field.Name))
		}
	}
	return o
}

//go:build race

package schedules

func init() { *count = 50 }

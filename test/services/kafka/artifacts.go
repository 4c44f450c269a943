package kafka

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pom names the artifacts and their versions.
//
//go:embed pom.xml
var pom []byte

//go:embed log4j2.properties
var log4j []byte

// Artifacts returns a directory with the broker's jar files. The first call
// for a pom.xml lets mvn fetch them; all later ones find them in the cache:
// $TWG_TEST_CACHE, or twg-test in the user's cache directory.
func Artifacts(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(pom)
	dir := filepath.Join(cache, "kafka-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := fetch(ctx, cache, dir); err != nil {
		return "", fmt.Errorf("fetch Kafka: %w", err)
	}
	return dir, nil
}

// fetch fills a directory beside the wanted one and renames it: what has the
// name is complete, and of two that fetch at once one wins.
func fetch(ctx context.Context, cache, dir string) error {
	if _, err := exec.LookPath("mvn"); err != nil {
		return errors.New("mvn is not there; apt-get install maven default-jre-headless")
	}
	tmp, err := os.MkdirTemp(cache, "kafka-fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644); err != nil {
		return err
	}
	lib := filepath.Join(tmp, "lib")
	cmd := exec.CommandContext(ctx, "mvn", "-B", "-q", "dependency:copy-dependencies", "-DoutputDirectory="+lib)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, out)
	}
	if err := os.Rename(lib, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil
		}
		return err
	}
	return nil
}

// cacheDir is made if it is not there.
func cacheDir() (string, error) {
	dir := os.Getenv("TWG_TEST_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a cache: %w; set TWG_TEST_CACHE to a directory", err)
		}
		dir = filepath.Join(user, "twg-test")
	}
	return dir, os.MkdirAll(dir, 0o755)
}

package repo

import (
	"archive/zip"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRelease does what docs/releasing.md says, into a module proxy made of
// files, and installs the binary from it as a user would: outside the
// workspace, where no directory stands for a module.
func TestRelease(t *testing.T) {
	const version = "v0.1.0"
	proxy, bin := t.TempDir(), t.TempDir()
	publish(t, tree(), proxy, version)

	// The module cache is a new one, because this version must never be found
	// in the real one; what the real one has downloaded serves as a proxy.
	env := goEnv(t)
	sources := []string{"file://" + proxy, "file://" + filepath.Join(env["GOMODCACHE"], "cache", "download"), env["GOPROXY"]}
	cmd := exec.CommandContext(t.Context(), "go", "install", "-trimpath", root+"/cmd/semel@"+version)
	cmd.Dir = bin
	cmd.Env = append(os.Environ(),
		"GOWORK=off",
		"GOFLAGS=-modcacherw", // so that the temporary directory can be removed
		"GOBIN="+bin,
		"GOMODCACHE="+t.TempDir(),
		"GOPROXY="+strings.Join(sources, ","),
		"GOPRIVATE=", "GONOPROXY=none",
		"GOSUMDB=off", // it does not know this version; the go.sum files hold the others
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	info, err := buildinfo.ReadFile(filepath.Join(bin, "semel"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Main.Version != version {
		t.Errorf("the binary says it is %s, want %s", info.Main.Version, version)
	}
	linked := false
	for _, dep := range info.Deps {
		linked = linked || dep.Path == root
		if strings.HasPrefix(dep.Path, root) && (dep.Version != version || dep.Replace != nil) {
			t.Errorf("the binary links %s %s, replaced by %v; want %s", dep.Path, dep.Version, dep.Replace, version)
		}
	}
	if !linked {
		t.Errorf("the binary does not link %s", root)
	}
}

// goEnv returns the settings of the go command.
func goEnv(t *testing.T) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	if err := json.Unmarshal(out, &env); err != nil {
		t.Fatal(err)
	}
	return env
}

// publish writes every module that users can require to a module proxy
// (go help goproxy), in one version.
func publish(t *testing.T, tree fs.FS, proxy, version string) {
	t.Helper()
	all := modules(t, tree)
	for _, m := range all {
		if m.private() {
			continue
		}
		mod := releasedMod(t, tree, m, all, version)
		info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{
			"list":            []byte(version + "\n"),
			version + ".info": info,
			version + ".mod":  mod,
			version + ".zip":  releasedZip(t, tree, m, all, mod, version),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// releasedMod returns the go.mod of a module after the edit of a release: it
// requires the other modules of ours in that version and replaces none.
func releasedMod(t *testing.T, tree fs.FS, m module, all []module, version string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(file, []byte(read(t, tree, path.Join(m.dir, "go.mod"))), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, other := range all {
		if _, ok := m.requires[other.path]; !ok {
			continue
		}
		edit := exec.CommandContext(t.Context(), "go", "mod", "edit",
			"-dropreplace="+other.path, "-require="+other.path+"@"+version, file)
		if out, err := edit.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	mod, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return mod
}

// releasedZip returns the archive of a module: its own files without those of
// the modules inside it, and the license, which the go command adds as well.
func releasedZip(t *testing.T, tree fs.FS, m module, all []module, mod []byte, version string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	add := func(name string, data []byte) {
		w, err := archive.Create(m.path + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	add("go.mod", mod)
	licensed := false
	for _, name := range files(t, tree) {
		if owner(all, name).path != m.path {
			continue
		}
		inside := strings.TrimPrefix(name, m.dir+"/")
		if inside != "go.mod" {
			add(inside, []byte(read(t, tree, name)))
		}
		licensed = licensed || inside == "LICENSE"
	}
	if !licensed {
		add("LICENSE", []byte(read(t, tree, "LICENSE")))
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

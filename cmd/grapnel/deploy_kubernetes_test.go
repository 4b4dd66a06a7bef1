package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// checkKubernetes lists what is wrong with the objects of a file.
func (c deployChecks) checkKubernetes(text string) (found problems) {
	var all []object
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var o object
		if !strict(dec, &o, &found) {
			break
		}
		all = append(all, o)
	}
	i := slices.IndexFunc(all, func(o object) bool { return o.Kind == "StatefulSet" })
	if i < 0 {
		found.add("there is no StatefulSet")
		return found
	}
	set := all[i].Spec
	if !slices.ContainsFunc(all, func(o object) bool {
		return o.Kind == "Service" && o.Metadata.Name == set.ServiceName && o.Spec.ClusterIP == "None"
	}) {
		found.add("there is no Service %s for the names of the pods", set.ServiceName)
	}
	if !slices.ContainsFunc(all, func(o object) bool { return o.Kind == "NetworkPolicy" }) {
		found.add("there is no NetworkPolicy: every pod of the cluster reaches the port of the nodes")
	}
	for _, o := range all {
		checkPolicy(o, set.Template, &found)
		checkSelector(o, set.Template.Metadata.Labels, &found)
		checkTargets(o, set.Template.Spec.Containers, &found)
	}
	c.checkPod(set, &found)
	return found
}

// checkSelector finds an object that selects other pods.
func checkSelector(o object, labels map[string]string, found *problems) {
	var selects struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	var err error
	switch o.Kind {
	case "Service":
		err = o.Spec.Selector.Decode(&selects.MatchLabels)
	case "NetworkPolicy":
		selects.MatchLabels = o.Spec.PodSelector.Match
	default:
		err = o.Spec.Selector.Decode(&selects)
	}
	if err != nil || !maps.Equal(selects.MatchLabels, labels) {
		found.add("%s %s selects %v, and the pods are %v: %v", o.Kind, o.Metadata.Name, selects.MatchLabels, labels, err)
	}
	if want := map[string]string{"Service": "v1", "StatefulSet": "apps/v1", "PodDisruptionBudget": "policy/v1", "NetworkPolicy": "networking.k8s.io/v1"}[o.Kind]; want != o.APIVersion {
		found.add("%s is of %q, not of %s", o.Kind, want, o.APIVersion)
	}
	if o.Kind == "PodDisruptionBudget" && o.Spec.MaxUnavailable < 1 {
		found.add("PodDisruptionBudget %s lets no pod be moved", o.Metadata.Name)
	}
}

// checkPolicy finds ports that the wrong ones reach: clients come from anywhere, and nodes are pods of the same kind.
func checkPolicy(o object, of pod, found *problems) {
	for _, s := range of.Spec.Spread {
		if !maps.Equal(s.Selector.Match, of.Metadata.Labels) {
			found.add("the pods are spread among %v, and are %v", s.Selector.Match, of.Metadata.Labels)
		}
	}
	if o.Kind != "NetworkPolicy" {
		return
	}
	open := map[string]bool{} // ports, and whether anybody reaches them
	for _, in := range o.Spec.Ingress {
		for _, p := range in.Ports {
			open[p.Port] = len(in.From) == 0
			for _, from := range in.From {
				open[p.Port] = open[p.Port] || !maps.Equal(from.PodSelector.Match, of.Metadata.Labels)
			}
		}
	}
	if want := map[string]bool{"clients": true, "nodes": false}; !maps.Equal(open, want) || !slices.Equal(o.Spec.PolicyTypes, []string{"Ingress"}) {
		found.add("the NetworkPolicy opens %v, and not %v", open, want)
	}
}

// checkTargets finds ports of a Service that no container has.
func checkTargets(o object, containers []ctr, found *problems) {
	for _, p := range o.Spec.Ports {
		if !slices.ContainsFunc(containers, func(c ctr) bool {
			return slices.ContainsFunc(c.Ports, func(have struct {
				Name string `yaml:"name"`
				Port int    `yaml:"containerPort"`
			}) bool {
				return have.Name == p.TargetPort && have.Port == p.Port
			})
		}) {
			found.add("Service %s goes to port %s %d, which no container has", o.Metadata.Name, p.TargetPort, p.Port)
		}
	}
}

func (c deployChecks) checkPod(set spec, found *problems) {
	p := set.Template.Spec
	var volumes []string
	for _, v := range p.Volumes {
		volumes = append(volumes, v.Name)
		if v.Secret.SecretName != "" && v.Secret.DefaultMode&0o007 != 0 {
			found.add("others can read the secret %s", v.Name)
		}
	}
	for _, v := range set.VolumeClaimTemplates {
		volumes = append(volumes, v.Metadata.Name)
	}
	for _, ct := range slices.Concat(p.InitContainers, p.Containers) {
		for _, m := range ct.VolumeMounts {
			if !slices.Contains(volumes, m.Name) {
				found.add("%s mounts %s, which is no volume", ct.Name, m.Name)
			}
		}
		if s := ct.SecurityContext; s.PrivilegeEscalation == nil || *s.PrivilegeEscalation || !slices.Contains(s.Capabilities.Drop, "ALL") {
			found.add("%s keeps capabilities or may gain privileges", ct.Name)
		}
	}
	if s := p.SecurityContext; p.HostUsers || s.Seccomp.Type != "Unconfined" || s.AppArmor.Type != "Unconfined" || !s.RunAsNonRoot {
		found.add("the pod does not allow the sandbox its namespaces, or runs as root")
	}
	for _, ct := range p.Containers {
		if ct.SecurityContext.ProcMount != "Unmasked" {
			found.add("%s does not allow the sandbox its /proc", ct.Name)
		}
		if !slices.ContainsFunc(ct.Args, func(a string) bool { return strings.HasPrefix(a, "https://$(POD_NAME)."+set.ServiceName+":") }) {
			found.add("--node-url has no name of a pod, such as https://$(POD_NAME).%s:7780", set.ServiceName)
		}
		one := podContainer(set, ct, found)
		*found = append(*found, c.check(one)...)
	}
}

// podContainer is the container of a daemon.
func podContainer(set spec, from ctr, found *problems) container {
	security := set.Template.Spec.SecurityContext
	ct := container{
		args: from.Args, env: map[string]string{}, user: fmt.Sprintf("%d:%d", security.RunAsUser, security.RunAsGroup),
		grace: time.Duration(set.Template.Spec.Grace) * time.Second,
	}
	ports := map[string]int{}
	for _, p := range from.Ports {
		ports[p.Name] = p.Port
		ct.ports = append(ct.ports, p.Port)
	}
	for _, e := range from.Env {
		ct.env[e.Name] = e.Value
	}
	for _, m := range from.VolumeMounts {
		ct.places = append(ct.places, m.Path)
	}
	for name, p := range map[string]httpProbe{"startup": from.Startup, "liveness": from.Liveness, "readiness": from.Readiness} {
		if _, ok := ports[p.Get.Port]; !ok || p.Get.Scheme != "HTTPS" || len(p.Get.Headers) != 1 || p.Get.Headers[0].Name != "Host" {
			found.add("the %s probe has no port of the container, no TLS, or no Host", name)
			continue
		}
		if p.Get.Path == "/readyz" && name == "liveness" {
			found.add("the liveness probe asks whether it is ready: a database that is away would restart every daemon")
		}
		ct.probes = append(ct.probes, containerProbe{path: p.Get.Path, port: ports[p.Get.Port], host: p.Get.Headers[0].Value})
	}
	return ct
}

package main

import "go.yaml.in/yaml/v3"

// The parts of a compose file and of Kubernetes' objects that deploy uses. A key that is not here is
// an error, so that a mistyped one is too.

// compose is a compose file.
type compose struct {
	Name     string             `yaml:"name"`
	Daemon   yaml.Node          `yaml:"x-daemon"`
	Ready    yaml.Node          `yaml:"x-ready"`
	Services map[string]service `yaml:"services"`
	Volumes  map[string]struct {
	} `yaml:"volumes"`
	Secrets map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
}

type service struct {
	Image string `yaml:"image"`
	Build struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
	User        string            `yaml:"user"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Secrets     []string          `yaml:"secrets"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	SecurityOpt []string          `yaml:"security_opt"`
	CapDrop     []string          `yaml:"cap_drop"`
	Init        bool              `yaml:"init"`
	Restart     string            `yaml:"restart"`
	StopGrace   string            `yaml:"stop_grace_period"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Healthcheck struct {
		Test        []string `yaml:"test"`
		Interval    string   `yaml:"interval"`
		Timeout     string   `yaml:"timeout"`
		Retries     int      `yaml:"retries"`
		StartPeriod string   `yaml:"start_period"`
	} `yaml:"healthcheck"`
}

// object is any of the objects of kubernetes.yaml.
type object struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       spec     `yaml:"spec"`
}

type metadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

// spec has the fields of all kinds. Selector is a map of labels in a Service, and has matchLabels
// elsewhere.
type spec struct {
	Selector                 yaml.Node     `yaml:"selector"`
	ClusterIP                string        `yaml:"clusterIP"`
	PublishNotReadyAddresses bool          `yaml:"publishNotReadyAddresses"`
	Ports                    []servicePort `yaml:"ports"`

	MaxUnavailable int `yaml:"maxUnavailable"`

	PodSelector labels   `yaml:"podSelector"`
	PolicyTypes []string `yaml:"policyTypes"`
	Ingress     []struct {
		Ports []struct {
			Port string `yaml:"port"`
		} `yaml:"ports"`
		From []struct {
			PodSelector labels `yaml:"podSelector"`
		} `yaml:"from"`
	} `yaml:"ingress"`

	ServiceName          string `yaml:"serviceName"`
	Replicas             int    `yaml:"replicas"`
	PodManagementPolicy  string `yaml:"podManagementPolicy"`
	Template             pod    `yaml:"template"`
	VolumeClaimTemplates []struct {
		Metadata metadata `yaml:"metadata"`
		Spec     struct {
			AccessModes []string  `yaml:"accessModes"`
			Resources   resources `yaml:"resources"`
		} `yaml:"spec"`
	} `yaml:"volumeClaimTemplates"`
}

// labels are those of the pods that are meant.
type labels struct {
	Match map[string]string `yaml:"matchLabels"`
}

type servicePort struct {
	Name       string `yaml:"name"`
	Port       int    `yaml:"port"`
	TargetPort string `yaml:"targetPort"`
}

type pod struct {
	Metadata metadata `yaml:"metadata"`
	Spec     struct {
		Grace               int  `yaml:"terminationGracePeriodSeconds"`
		ServiceAccountToken bool `yaml:"automountServiceAccountToken"`
		HostUsers           bool `yaml:"hostUsers"`
		Spread              []struct {
			MaxSkew     int    `yaml:"maxSkew"`
			TopologyKey string `yaml:"topologyKey"`
			When        string `yaml:"whenUnsatisfiable"`
			Selector    labels `yaml:"labelSelector"`
		} `yaml:"topologySpreadConstraints"`
		SecurityContext secure `yaml:"securityContext"`
		InitContainers  []ctr  `yaml:"initContainers"`
		Containers      []ctr  `yaml:"containers"`
		Volumes         []struct {
			Name  string `yaml:"name"`
			Claim struct {
				ClaimName string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
			Secret struct {
				SecretName  string `yaml:"secretName"`
				DefaultMode int    `yaml:"defaultMode"`
			} `yaml:"secret"`
			EmptyDir struct {
				Medium string `yaml:"medium"`
			} `yaml:"emptyDir"`
		} `yaml:"volumes"`
	} `yaml:"spec"`
}

// secure is the security context of a pod or a container.
type secure struct {
	RunAsNonRoot        bool    `yaml:"runAsNonRoot"`
	RunAsUser           int     `yaml:"runAsUser"`
	RunAsGroup          int     `yaml:"runAsGroup"`
	FSGroup             int     `yaml:"fsGroup"`
	FSGroupChangePolicy string  `yaml:"fsGroupChangePolicy"`
	Seccomp             profile `yaml:"seccompProfile"`
	AppArmor            profile `yaml:"appArmorProfile"`
	ProcMount           string  `yaml:"procMount"`
	PrivilegeEscalation *bool   `yaml:"allowPrivilegeEscalation"`
	Capabilities        struct {
		Drop []string `yaml:"drop"`
	} `yaml:"capabilities"`
}

type profile struct {
	Type string `yaml:"type"`
}

// ctr is a container of a pod.
type ctr struct {
	Name    string   `yaml:"name"`
	Image   string   `yaml:"image"`
	Command []string `yaml:"command"`
	Args    []string `yaml:"args"`
	Env     []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
		From  struct {
			Secret struct {
				Name string `yaml:"name"`
				Key  string `yaml:"key"`
			} `yaml:"secretKeyRef"`
			Field struct {
				Path string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	} `yaml:"env"`
	Ports []struct {
		Name string `yaml:"name"`
		Port int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Startup         httpProbe `yaml:"startupProbe"`
	Liveness        httpProbe `yaml:"livenessProbe"`
	Readiness       httpProbe `yaml:"readinessProbe"`
	Resources       resources `yaml:"resources"`
	SecurityContext secure    `yaml:"securityContext"`
	VolumeMounts    []struct {
		Name     string `yaml:"name"`
		Path     string `yaml:"mountPath"`
		ReadOnly bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type resources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

// httpProbe is a probe by a request.
type httpProbe struct {
	Get struct {
		Path    string `yaml:"path"`
		Port    string `yaml:"port"`
		Scheme  string `yaml:"scheme"`
		Headers []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"httpHeaders"`
	} `yaml:"httpGet"`
	Period   int `yaml:"periodSeconds"`
	Timeout  int `yaml:"timeoutSeconds"`
	Failures int `yaml:"failureThreshold"`
}

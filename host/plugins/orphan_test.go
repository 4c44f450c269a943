package plugins

func actHost(string) {}

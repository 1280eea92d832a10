// A page opened from disk may not start a worker: the search then runs in a hidden frame, which behaves like one.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}))
      inside.importScripts = (...urls) => Promise.all(urls.map(each => add(each)))
      const add = address => new Promise((done, failed) => {
        const script = frame.contentDocument.createElement("script")
        script.src = new URL(address, url)
        script.onload = done
        script.onerror = failed
        frame.contentDocument.body.appendChild(script)
      })
      this.ready = add(url)
      this.postMessage = data =>
        this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", {data})))
    }
    terminate() {}
  }

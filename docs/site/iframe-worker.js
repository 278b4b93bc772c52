// The search of the site runs in a worker, and a browser starts none for a page that was opened from a
// disk. There, and only there, a frame without content takes its place: it runs the same script in the
// same origin, and messages go to and fro as they would.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const deliver = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.postMessage = (data) => setTimeout(deliver, 0, data);
      inside.importScripts = (...urls) => Promise.all(urls.map((one) => this.load(one)));
      this.load(url).then(() => {
        const kept = this.waiting;
        this.waiting = undefined;
        kept.forEach((data) => this.postMessage(data));
      });
    }

    load(url) {
      return new Promise((resolve, reject) => {
        const page = this.frame.contentDocument;
        const script = page.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot be loaded: ${url}`));
        page.documentElement.appendChild(script);
      });
    }

    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data);
        return;
      }
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }

    terminate() {
      this.frame.remove();
    }
  };
}

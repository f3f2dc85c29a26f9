import http from 'node:http';
import type { Scene } from './scene.ts';

export interface PageSeen {
  status: number;
  headers: http.IncomingHttpHeaders;
  html: string;
  /** The text that a reader sees, without tags. */
  text: string;
  title: string;
  heading: string;
  /** The redirect target, as a path of ours or a whole address. */
  leadsTo: string | undefined;
  forms: PageForm[];
  links: string[];
}

export interface PageForm {
  action: string;
  /** The label of the button. */
  submit: string;
  fields: Record<string, string>;
  /** Unchecked boxes. */
  boxes: string[];
  /** The errors shown at invalid fields. */
  faults: Record<string, string>;
}

export interface Asked {
  method?: string;
  body?: string;
  headers?: Record<string, string | null>;
}

/** A browser without a window: it keeps cookies, sends forms with their origin, and follows nothing by itself. */
export class PageVisitor {
  readonly cookies = new Map<string, string>();
  readonly #scene: Scene;

  constructor(scene: Scene, cookies: Record<string, string> = {}) {
    this.#scene = scene;
    for (const [name, value] of Object.entries(cookies)) this.cookies.set(name, value);
  }

  open(address: string, asked: Asked = {}): Promise<PageSeen> {
    const { hostname, port } = new URL(this.#scene.url);
    const method = asked.method ?? (asked.body === undefined ? 'GET' : 'POST');
    const usual: Record<string, string | null> = {
      'user-agent': 'Mozilla/5.0 (page visitor)',
      cookie: this.cookies.size === 0 ? null : [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      ...(asked.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(method === 'POST' ? { origin: new URL(this.#scene.app.world.origin()).origin } : {}),
      ...asked.headers,
    };
    const headers = Object.fromEntries(Object.entries(usual).filter((one): one is [string, string] => one[1] !== null));
    return new Promise((resolve, reject) => {
      const request = http.request({ hostname, port, method, path: address, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          this.#keep(response.headers['set-cookie'] ?? []);
          const html = Buffer.concat(chunks).toString('utf8');
          resolve({ status: response.statusCode ?? 0, headers: response.headers, html, ...readPage(html, response) });
        });
      });
      request.on('error', reject);
      request.end(asked.body);
    });
  }

  /** Fills in the form with this button on a page and sends it. */
  send(page: PageSeen, submit: string, values: Record<string, string> = {}, asked: Asked = {}): Promise<PageSeen> {
    const form = page.forms.find((one) => one.submit === submit);
    if (!form) throw new Error(`there is no button ${submit}: ${page.status} ${page.text}`);
    for (const name of Object.keys(values)) {
      if (!(name in form.fields) && !form.boxes.includes(name))
        throw new Error(`the form has no field ${name}: ${Object.keys(form.fields).join(', ')}`);
    }
    return this.open(form.action, { body: new URLSearchParams({ ...form.fields, ...values }).toString(), ...asked });
  }

  /** Follows redirects until there is none. */
  async follow(page: PageSeen | Promise<PageSeen>): Promise<PageSeen> {
    let seen = await page;
    for (let step = 0; step < 5 && seen.leadsTo !== undefined; step++) seen = await this.open(seen.leadsTo);
    return seen;
  }

  #keep(cookies: readonly string[]): void {
    for (const cookie of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (/;\s*Max-Age=0\b/i.test(cookie)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const plain = (html: string): string =>
  html
    .replaceAll(/<title>.*?<\/title>|<style>[^]*?<\/style>/g, '')
    .replaceAll(/<\/?(?:bdi|strong|b|i|span|a)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim();

function readPage(html: string, { headers }: http.IncomingMessage): Omit<PageSeen, 'status' | 'headers' | 'html'> {
  const first = (form: RegExp): string => plain(form.exec(html)?.[1] ?? '');
  // A form with several buttons counts once for each, with the value that it sends.
  const forms = [...html.matchAll(/<form method="post" action="([^"]*)">([^]*?)<\/form>/g)].flatMap(
    ([, action = '', inner = '']): PageForm[] => {
      const inputs = [...inner.matchAll(/<input ([^>]*)>/g)].map(([, attributes = '']) => attributes);
      const isSent = (input: string): boolean => valueIn(input, 'type') !== 'checkbox' || /\bchecked\b/.test(input);
      const boxes = inputs.filter((input) => !isSent(input)).map((input) => valueIn(input, 'name'));
      const chosen = [...inner.matchAll(/<select ([^>]*)>([^]*?)<\/select>/g)].map(
        ([, attributes = '', options = '']): [string, string] => [
          valueIn(attributes, 'name'),
          plain(/value="([^"]*)" selected/.exec(options)?.[1] ?? valueIn(options, 'value')),
        ],
      );
      const typed = inputs
        .filter(isSent)
        .map((input): [string, string] => [valueIn(input, 'name'), plain(valueIn(input, 'value'))]);
      const fields = [...typed, ...chosen];
      const faults = inputs.flatMap((input): [string, string][] => {
        const said = new RegExp(`id="${valueIn(input, 'id')}-fault">([^]*?)</span>`).exec(inner)?.[1];
        return said === undefined ? [] : [[valueIn(input, 'name'), plain(said)]];
      });
      return [...inner.matchAll(/<button([^>]*)>([^]*?)<\/button>/g)].map(([, attributes = '', label = '']) => {
        const name = valueIn(attributes, 'name');
        return {
          action: plain(action),
          submit: plain(label),
          boxes: [...boxes],
          fields: { ...Object.fromEntries(fields), ...(name !== '' && { [name]: valueIn(attributes, 'value') }) },
          faults: Object.fromEntries(faults),
        };
      });
    },
  );
  return {
    text: plain(html),
    title: plain(/<title>(.*?)<\/title>/.exec(html)?.[1] ?? ''),
    heading: first(/<h1>([^]*?)<\/h1>/),
    leadsTo: headers.location,
    forms,
    links: [...html.matchAll(/<a href="([^"]*)"/g)].map(([, to = '']) => plain(to)),
  };
}

const valueIn = (input: string, name: string): string => new RegExp(`\\b${name}="([^"]*)"`).exec(input)?.[1] ?? '';

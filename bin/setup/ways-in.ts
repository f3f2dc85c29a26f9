/** At which ports this machine is reached: what is free, what other programs have, and what works then. */
import { Unfit } from './asking.ts';
import type { Answers, Https, Surroundings } from './options.ts';
import { readHttps, readPort } from './readers.ts';
import { UNITS, WEB_SERVERS, type Listener } from './taken-ports.ts';
import type { OwnAddress } from './this-machine.ts';

type Ways = Pick<Answers, 'https' | 'apiPort' | 'receives' | 'smtpHost' | 'leftOut'>;

export async function askWays(around: Surroundings, own: readonly OwnAddress[]): Promise<Ways> {
  const https = await askHttps(around);
  const apiPort = await askApiPort(around);
  const mail = await askMail(around, own);
  const { submission } = around.config;
  const leftOut = [...submission.ports, ...submission.tls_ports].filter(
    (port) => port !== 25 && around.listeners.some((one) => one.port === port),
  );
  for (const port of leftOut)
    around.asker.tell(`Port ${port}, for applications, is taken by ${holder(around.listeners, port)}: it is left out.`);
  return { https, apiPort, ...mail, leftOut };
}

const at = (listeners: readonly Listener[], port: number): Listener[] => listeners.filter((one) => one.port === port);

/** "nginx (process 812)", as a sentence goes on. */
function holder(listeners: readonly Listener[], port: number): string {
  const names = at(listeners, port).map(({ program, pid }) =>
    pid === undefined
      ? 'a program that only root can see'
      : `${program ?? 'a program without a name'} (process ${pid})`,
  );
  return [...new Set(names)].join(' and ');
}

const HTTPS_PORT = 443;
const OTHER_HTTPS_PORT = 8443;

async function askHttps({ options, asker, config, fromOf, listeners }: Surroundings): Promise<Https> {
  const [taken] = at(listeners, HTTPS_PORT);
  const webServer = at(listeners, HTTPS_PORT).find(({ program = '' }) => WEB_SERVERS.includes(program))?.program;
  const written = writtenHttps(config, fromOf);
  const free = { value: 'own', from: 'port 443 is free' };
  const foundWebServer = webServer && { value: 'proxy', from: `port 443 is taken by ${holder(listeners, HTTPS_PORT)}` };
  const answer = await asker.ask({
    flag: '--https',
    label: 'HTTPS: own, proxy, none, or another port',
    says: taken
      ? `Port 443 is taken by ${holder(listeners, HTTPS_PORT)}. What works then: proxy (it passes requests on; the lines for it are printed below), a port of rasket's own such as ${OTHER_HTTPS_PORT}, or none (the API on this machine alone). To give the port to rasket, ${howToFree(taken.program)}, and begin again.`
      : 'The API and its pages over HTTPS: own (rasket opens 443 and 80 itself), proxy (a web server in front of it), none (the API on this machine alone), or another port.',
    given: options.https,
    found: written ?? (taken ? foundWebServer || undefined : free),
    read: (text) => mustBeFree(readHttps(text), listeners),
  });
  if (answer === 'none') return { kind: 'none' };
  if (answer === 'proxy') return { kind: 'proxy', program: webServer };
  return { kind: 'own', port: answer === 'own' ? HTTPS_PORT : answer, hasPort80: at(listeners, 80).length === 0 };
}

function mustBeFree(answer: ReturnType<typeof readHttps>, listeners: readonly Listener[]): typeof answer {
  const port = answer === 'own' ? HTTPS_PORT : answer;
  if (typeof port === 'number' && at(listeners, port).length > 0)
    throw new Unfit(`port ${port} is taken by ${holder(listeners, port)}`);
  return answer;
}

function writtenHttps(config: Surroundings['config'], fromOf: Surroundings['fromOf']) {
  const ports = fromOf('https.ports');
  const [port] = config.https.ports;
  if (ports !== undefined && port !== undefined)
    return { value: port === HTTPS_PORT ? 'own' : String(port), from: ports };
  const url = fromOf('http.public_url');
  if (url !== undefined && config.http.public_url.startsWith('https:')) return { value: 'proxy', from: url };
  return ports === undefined ? undefined : { value: 'none', from: ports };
}

/** Where the API listens for this machine and for a proxy. */
async function askApiPort({ options, asker, config, fromOf, listeners }: Surroundings): Promise<number | undefined> {
  const { port } = config.http;
  const isTaken = at(listeners, port).length > 0;
  if (!isTaken && options.apiPort === undefined) return undefined;
  const free = [...Array(100).keys()].map((step) => port + step + 1).find((one) => at(listeners, one).length === 0);
  return asker.ask({
    flag: '--api-port',
    label: 'Port of the API on this machine',
    says: `Port ${port}${fromOf('http.port') === undefined ? ', the default,' : ''} is taken by ${holder(listeners, port)}; the API takes another one.`,
    given: options.apiPort,
    found:
      free === undefined
        ? undefined
        : {
            value: String(free),
            from: `the next free one, as ${port} is taken by ${holder(listeners, port)}`,
          },
    read(text) {
      const answer = readPort(text);
      if (at(listeners, answer).length > 0) throw new Unfit(`port ${answer} is taken by ${holder(listeners, answer)}`);
      return answer;
    },
  });
}

const SMTP_PORT = 25;

async function askMail(
  { options, asker, config, fromOf, listeners }: Surroundings,
  own: readonly OwnAddress[],
): Promise<Pick<Answers, 'receives' | 'smtpHost'>> {
  const taken = at(listeners, SMTP_PORT);
  const written = fromOf('receiving.ports');
  const wasReceiving = config.receiving.ports.includes(SMTP_PORT);
  if (taken.length === 0) {
    const receives = options.receive ?? (written === undefined || wasReceiving);
    asker.tell(
      `Port 25: ${receives ? 'free; rasket takes mail and bounces there' : 'left alone; no mail and no bounces are taken'}.`,
    );
    return { receives, smtpHost: undefined };
  }
  const who = holder(listeners, SMTP_PORT);
  const [first] = own;
  // Debian's Postfix and Exim take mail of this machine alone until they are told otherwise.
  if (taken.every(({ isLoopback }) => isLoopback) && first && options.receive !== false) {
    const smtpHost = config.smtp.host === '' ? first.address : config.smtp.host;
    asker.tell(`Port 25 of loopback is taken by ${who}; rasket listens at ${smtpHost} alone (smtp.host).`);
    return { receives: true, smtpHost };
  }
  const answer = await asker.ask({
    flag: '--receive or --no-receive',
    label: 'Receive mail: no, or yes once the port is free',
    says: `Port 25 is taken by ${who}. Without it rasket sends, and takes neither mail nor bounces: no leaves the port out of its settings. To give it to rasket, ${howToFree(taken[0]?.program)}, and answer yes.`,
    given: options.receive === undefined ? undefined : options.receive ? 'yes' : 'no',
    found: { value: 'no', from: `port 25 is taken by ${who}` },
    read(text) {
      if (/^(yes|no)$/i.test(text)) return text.toLowerCase();
      throw new Unfit('must be yes or no');
    },
  });
  if (answer === 'yes') asker.tell(`Port 25 stays with ${who} until you stop it; rasket opens it at its next start.`);
  return { receives: answer === 'yes', smtpHost: undefined };
}

/** What a person could type to set a port free; never done here. */
const howToFree = (program: string | undefined): string => {
  const unit = UNITS[program ?? ''];
  return unit === undefined ? 'stop that program' : `stop it (systemctl disable --now ${unit})`;
};

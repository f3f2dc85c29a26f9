import { isClosed, type Section } from '../catalog.ts';
import { createLineFormatter } from '../../cli/output/index.ts';
import { ItemScreen } from './item-screen.ts';
import { ListScreen } from './list-screen.ts';
import { MetricsScreen } from './metrics-screen.ts';
import { OverviewScreen } from './overview-screen.ts';
import { ReportScreen } from './report-screen.ts';
import { ReputationScreen } from './reputation-screen.ts';
import { follow, tried, type Host, type Screen, type Offer, type Size } from './screen.ts';
import { wrap } from '../draw/text.ts';

/**
 * A screen that the credential in use cannot open: it says which one can, and only checks whether a lost server is
 * back.
 */
class ClosedScreen implements Screen {
  readonly title: string;
  readonly #host: Host;
  readonly #says: string;
  #signal = AbortSignal.abort();

  constructor(host: Host, title: string, says: string) {
    this.#host = host;
    this.title = title;
    this.#says = says;
  }

  readonly #following = {
    load: async (signal: AbortSignal): Promise<void> => {
      if (this.#host.lostSince !== undefined) await this.#host.client.call('getHealth', {}, signal);
    },
    // The first line says it already.
    tell: (): void => undefined,
  };

  note(): string {
    return '';
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    void follow(this.#host, signal, this.#following);
  }

  refresh(): void {
    void tried(this.#host, this.#signal, this.#following);
  }

  draw({ columns }: Size): string[] {
    return ['', ...wrap(`  ${this.#says}`, columns - 2)];
  }

  key(): boolean {
    return false;
  }

  keys(): readonly (readonly [string, string])[] {
    return [];
  }

  offers(): readonly Offer[] {
    return [];
  }

  copy(): string | undefined {
    return undefined;
  }
}

/** Returns the screen of the first level for a section. */
export function createScreen(host: Host, section: Section): Screen {
  const { name } = section;
  if (isClosed(section, host.isPerson)) return new ClosedScreen(host, name, closed(host.client.url));
  switch (section.kind) {
    case 'overview':
      return new OverviewScreen(host);
    case 'metrics':
      return new MetricsScreen(host);
    case 'reputation':
      return new ReputationScreen(host);
    case 'list':
      return new ListScreen(host, { family: section.family, list: section.list, path: {}, title: name });
    case 'report':
      return new ReportScreen(host, section, name);
    case 'item': {
      const { family, get } = section;
      const list = (): never => {
        throw new Error('the list has no path of its item');
      };
      return new ItemScreen(host, { family, get, title: () => name, path: {}, fields: get.fields, lists: [], list });
    }
  }
}

function closed(url: string): string {
  const says =
    'This screen needs a person who is signed in; API keys have no access. Quit the console with q and sign in with';
  return createLineFormatter()({ words: says, command: ['login', '--url', url] }) ?? '';
}

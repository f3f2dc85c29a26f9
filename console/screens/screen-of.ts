import { isClosed, type Section } from '../catalog.ts';
import { sayOnLine } from '../../cli/output/index.ts';
import { ClosedScreen } from './closed-screen.ts';
import { ItemScreen } from './item-screen.ts';
import { ListScreen } from './list-screen.ts';
import { MetricsScreen } from './metrics-screen.ts';
import { OverviewScreen } from './overview-screen.ts';
import { ReportScreen } from './report-screen.ts';
import type { Host, Screen } from './screen.ts';

/** The screen of the first level that a section stands for. */
export function screenOf(host: Host, section: Section): Screen {
  const { name } = section;
  if (isClosed(section, host.isPerson)) return new ClosedScreen(host, name, closed(host.client.url));
  switch (section.kind) {
    case 'overview':
      return new OverviewScreen(host);
    case 'metrics':
      return new MetricsScreen(host);
    case 'list':
      return new ListScreen(host, { family: section.family, list: section.list, path: {}, title: name });
    case 'report':
      return new ReportScreen(host, section, name);
    case 'item': {
      const { family, get } = section;
      const list = (): never => {
        throw new Error('an item without a path has no lists');
      };
      return new ItemScreen(host, { family, get, title: () => name, path: {}, fields: get.fields, lists: [], list });
    }
  }
}

function closed(url: string): string {
  const says = 'This takes a person who is signed in; no key reaches it. Leave the console with q and sign in with';
  return sayOnLine()({ words: says, command: ['login', '--url', url] }) ?? '';
}

/** The thread for large texts (`platform/text-thread/`): which tasks it knows. Each group is loaded when it is first asked for. */
import { htmlTasks, serveTextTasks } from './platform/text-thread/index.ts';

serveTextTasks({
  html: () => Promise.resolve(htmlTasks),
  templates: async () => (await import('./resources/templates/index.ts')).textTasks,
  broadcasts: async () => (await import('./resources/broadcasts/index.ts')).textTasks,
});

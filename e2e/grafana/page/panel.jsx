// One flame graph panel, drawn by Grafana's own component: panel.html?type=PROFILE_TYPE&selector=SELECTOR
// Served by Pyroscope itself, so that its query API has the same origin.
import { createRoot } from 'react-dom/client';
import { createTheme, createDataFrame, FieldType } from '@grafana/data';
import { FlameGraph } from '@grafana/flamegraph';

const query = new URLSearchParams(location.search);

// Pyroscope answers by levels of (gap to the left neighbour, total, self, name); Grafana takes a tree in depth-first order.
function nestedSet({ levels, names }) {
  const rows = levels.map(({ values }) => {
    const numbers = values.map(Number);
    const nodes = [];
    for (let i = 0, x = 0; i < numbers.length; i += 4) {
      const [gap, total, self, name] = numbers.slice(i, i + 4);
      x += gap;
      nodes.push({ from: x, to: x + total, total, self, name: names[name] });
      x += total;
    }
    return nodes;
  });
  const tree = [];
  const walk = (node, level) => {
    tree.push({ ...node, level });
    for (const child of rows[level + 1] ?? []) if (child.from >= node.from && child.to <= node.to) walk(child, level + 1);
  };
  rows[0].forEach((root) => walk(root, 0));
  return tree;
}

async function ask() {
  const now = Date.now();
  const answer = await fetch('/querier.v1.QuerierService/SelectMergeStacktraces', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      profileTypeID: query.get('type'), labelSelector: query.get('selector'), start: now - 3600e3, end: now,
    }),
  });
  return nestedSet((await answer.json()).flamegraph);
}

const tree = await ask();
const column = (name, type, pick, config = {}) => ({ name, type, values: tree.map(pick), config });
const frame = createDataFrame({
  name: 'response',
  fields: [
    column('level', FieldType.number, (n) => n.level),
    column('value', FieldType.number, (n) => n.total, { unit: 'ns' }),
    column('self', FieldType.number, (n) => n.self, { unit: 'ns' }),
    column('label', FieldType.string, (n) => n.name),
  ],
});
createRoot(document.getElementById('root')).render(
  <>
    <h3 style={{ font: '14px sans-serif', margin: '8px' }}>{query.get('selector')}</h3>
    <FlameGraph data={frame} getTheme={() => createTheme({ colors: { mode: 'light' } })} />
  </>,
);

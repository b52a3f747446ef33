/* The table of hottest functions beside the graph. */
const TABLE_ROWS = 250;

class Table {
  constructor(model, body, note, onPick) {
    Object.assign(this, { model, body, note, onPick });
    this.by = 'self';
    this.ascending = false;
    this.rows = [];
  }

  setView(view) {
    this.view = view;
    this.rows = null; /* counted when they are looked at */
  }

  sortBy(column) {
    this.ascending = this.by === column ? !this.ascending : column === 'name';
    this.by = column;
    this.show();
  }

  sorted() {
    if (!this.rows) this.rows = this.view.hottest();
    const sign = this.ascending ? 1 : -1, by = this.by;
    const rows = this.search ? this.rows.filter((r) => this.search.frames[r.frame]) : this.rows.slice();
    /* Frames are numbered in the order of their names. */
    return rows.sort((a, b) => (by === 'name' ? sign * (a.frame - b.frame)
      : sign * (a[by] - b[by]) || b.total - a.total || a.frame - b.frame));
  }

  show(search = this.search) {
    this.search = search;
    const rows = this.sorted(), all = this.view.root.total;
    this.body.replaceChildren(...rows.slice(0, TABLE_ROWS).map((r) => this.row(r, all)));
    this.note.textContent = rows.length > TABLE_ROWS ? `${(rows.length - TABLE_ROWS).toLocaleString('en')} more functions`
      : rows.length ? '' : 'No function matches.';
  }

  row(r, all) {
    const f = this.model.frames[r.frame], tr = document.createElement('tr');
    tr.append(this.number(r.self, all), this.number(r.total, all), this.name(f, r));
    tr.tabIndex = 0;
    tr.addEventListener('click', () => this.onPick(f));
    tr.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' || e.key === ' ') {
        e.preventDefault();
        this.onPick(f);
      }
    });
    return tr;
  }

  number(value, all) {
    const td = document.createElement('td');
    td.className = 'number';
    td.textContent = percent(value, all);
    td.title = quantity(value, this.view.event.unit);
    td.style.setProperty('--part', `${all ? 100 * value / all : 0}%`);
    return td;
  }

  name(f) {
    const td = document.createElement('td'), dot = document.createElement('i');
    const name = document.createElement('span'), module = document.createElement('small');
    td.className = 'function';
    dot.className = `dot ${kindOf(f)}`;
    name.textContent = f.name.slice(0, 400);
    module.textContent = f.module ? baseName(f.module) : '';
    td.title = `${f.name.slice(0, 1000)}\n${f.module}${f.file ? '\n' + sourceOf(f) : ''}`;
    td.append(dot, name, module);
    return td;
  }
}

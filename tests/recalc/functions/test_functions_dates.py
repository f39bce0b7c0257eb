"""Date functions: Microsoft's documented examples, and calendars counted by Python's `datetime`."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.recalc.single import evaluate_formula
from workbench.recalc.values import CellErrorValue

VALUE, NUM = CellErrorValue.VALUE, CellErrorValue.NUM


def serial(year: int, month: int, day: int) -> float:
    """After February 1900, Excel counts days from 30 December 1899."""
    return float((datetime.date(year, month, day) - datetime.date(1899, 12, 30)).days)


DATES = [
    ("=DATE(2020,13,1)", serial(2021, 1, 1)),
    ("=DATE(2020,0,1)", serial(2019, 12, 1)),
    ("=DATE(2020,2,30)", serial(2020, 3, 1)),
    ("=DATE(2020,1,0)", serial(2019, 12, 31)),
    ("=DATE(108,1,2)", serial(2008, 1, 2)),
    ("=DATE(1900,2,29)", 60.0),
    ("=DATE(1900,2,28)", 59.0),
    ("=DATE(1900,1,0)", 0.0),
    ("=DATE(10000,1,1)", NUM),
    ("=DATE(-1,1,1)", NUM),
    ("=DATE(1900,0,1)", NUM),
    ("=DAY(60)", 29.0),
    ("=MONTH(60)", 2.0),
    ("=DAY(0)", 0.0),
    ("=YEAR(-1)", NUM),
    ("=YEAR(2958466)", NUM),
    ('=YEAR("2020-05-01")', 2020.0),
    ('=DAY("15-Jan-2020")', 15.0),
    ('=DATEVALUE("1/15/2020")', serial(2020, 1, 15)),
    ('=DATEVALUE("January 15, 2020")', serial(2020, 1, 15)),
    ('=DATEVALUE("22 May 2011")', serial(2011, 5, 22)),
    ('=DATEVALUE("2011-02-23 10:00")', serial(2011, 2, 23)),
    ('=DATEVALUE("2020/02/30")', VALUE),
    ("=DATEVALUE(45000)", VALUE),
    ("=EDATE(DATE(2020,1,31),1)", serial(2020, 2, 29)),
    ("=EDATE(DATE(2020,1,31),-11)", serial(2019, 2, 28)),
    ("=EDATE(TRUE,1)", VALUE),
    ("=EOMONTH(DATE(2020,1,15),1)", serial(2020, 2, 29)),
    ("=EOMONTH(45000,-10000)", NUM),
]

TIMES = [
    ("=HOUR(0.75)", 18.0),
    ("=HOUR(0.999999)", 23.0),
    ("=SECOND(0.999999)", 0.0),
    ('=HOUR("10:30 PM")', 22.0),
    ('=MINUTE("10:45:30")', 45.0),
    ('=SECOND("10:45:30")', 30.0),
    ("=HOUR(-1)", NUM),
    ("=TIME(25,0,0)", 1 / 24),
    ("=TIME(1,-30,0)", 0.5 / 24),
    ("=TIME(0,-1,0)", NUM),
    ("=TIME(32768,0,0)", NUM),
    ('=TIMEVALUE("2020-01-01 06:00")', 0.25),
    ('=TIMEVALUE("abc")', VALUE),
]

WEEKS = [
    ("=WEEKDAY(1)", 1.0),  # Excel holds 1 January 1900 for a Sunday
    ("=WEEKDAY(DATE(2008,2,14))", 5.0),
    ("=WEEKDAY(DATE(2008,2,14),2)", 4.0),
    ("=WEEKDAY(DATE(2008,2,14),3)", 3.0),
    ("=WEEKDAY(DATE(2008,2,14),16)", 6.0),
    ("=WEEKDAY(45000,4)", NUM),
    ("=WEEKNUM(DATE(2012,3,9))", 10.0),
    ("=WEEKNUM(DATE(2012,3,9),2)", 11.0),
    ("=WEEKNUM(DATE(2021,1,1),21)", 53.0),
    ("=WEEKNUM(45000,5)", NUM),
    ("=ISOWEEKNUM(DATE(2012,3,9))", 10.0),
]

DIFFERENCES = [
    ("=DAYS(DATE(2021,3,15),DATE(2021,2,1))", 42.0),
    ('=DAYS("2021-03-15","2021-02-01")', 42.0),
    ("=DAYS360(DATE(2011,1,30),DATE(2011,2,1))", 1.0),
    ("=DAYS360(DATE(2011,1,1),DATE(2011,12,31))", 360.0),
    ("=DAYS360(DATE(2011,2,28),DATE(2011,3,31))", 30.0),
    ("=DAYS360(DATE(2011,2,28),DATE(2011,3,31),TRUE)", 32.0),
    ("=YEARFRAC(DATE(2012,1,1),DATE(2012,7,30))", 209 / 360),
    ("=YEARFRAC(DATE(2012,1,1),DATE(2012,7,30),1)", 211 / 366),
    ("=YEARFRAC(DATE(2012,7,30),DATE(2012,1,1),2)", 211 / 360),
    ("=YEARFRAC(DATE(2012,1,1),DATE(2012,7,30),3)", 211 / 365),
    ("=YEARFRAC(DATE(2012,1,1),DATE(2012,7,30),4)", 209 / 360),
    ("=YEARFRAC(1,2,5)", NUM),
    ('=DATEDIF(DATE(2001,1,1),DATE(2003,1,1),"Y")', 2.0),
    ('=DATEDIF(DATE(2001,6,1),DATE(2002,8,15),"D")', 440.0),
    ('=DATEDIF(DATE(2001,6,1),DATE(2002,8,15),"yd")', 75.0),
    ('=DATEDIF(DATE(2001,6,1),DATE(2002,8,15),"md")', 14.0),
    ('=DATEDIF(DATE(2001,6,20),DATE(2002,8,15),"ym")', 1.0),
    ('=DATEDIF(DATE(2020,5,1),DATE(2020,3,1),"D")', NUM),
    ('=DATEDIF(1,2,"X")', NUM),
]

WORKDAYS = [
    ("=WORKDAY(DATE(2008,10,1),151)", serial(2009, 4, 30)),
    ("=WORKDAY(DATE(2008,10,1),151,{39778;39786;39834})", serial(2009, 5, 5)),
    ("=WORKDAY.INTL(DATE(2012,1,1),30,0)", NUM),
    ("=WORKDAY.INTL(DATE(2012,1,1),90,11)", 41013.0),
    ("=WORKDAY.INTL(DATE(2012,1,1),30,17)", serial(2012, 2, 5)),
    ('=WORKDAY.INTL(DATE(2012,1,1),10,"1111111")', VALUE),
    ("=NETWORKDAYS(DATE(2012,10,1),DATE(2013,3,1))", 110.0),
    ("=NETWORKDAYS(DATE(2012,10,1),DATE(2013,3,1),{41235;41247;41295})", 107.0),
    ("=NETWORKDAYS.INTL(DATE(2006,1,1),DATE(2006,1,31))", 22.0),
    ("=NETWORKDAYS.INTL(DATE(2006,2,28),DATE(2006,1,31))", -21.0),
    ("=NETWORKDAYS.INTL(DATE(2006,1,1),DATE(2006,2,1),7,{38719;38733})", 22.0),
    ('=NETWORKDAYS.INTL(DATE(2006,1,1),DATE(2006,2,1),"0010001",{38719;38733})', 20.0),
    ("=WORKDAY({45000,45001},1)", [[45001.0, 45002.0]]),
]


@pytest.mark.parametrize(("formula", "expected"), DATES + TIMES + WEEKS + DIFFERENCES + WORKDAYS)
def test_date_function(formula: str, expected: object) -> None:
    got = evaluate_formula(formula)
    assert got == (pytest.approx(expected, abs=1e-12) if isinstance(expected, float) else expected)


DAYS = st.dates(datetime.date(1900, 3, 1), datetime.date(2400, 1, 1))


@given(DAYS)
def test_the_calendar_is_pythons(day: datetime.date) -> None:
    number = serial(day.year, day.month, day.day)
    cells = {"A1": number}
    assert evaluate_formula("=DATE(YEAR(A1),MONTH(A1),DAY(A1))", cells) == number
    assert evaluate_formula("=WEEKDAY(A1,2)", cells) == day.isoweekday()
    assert evaluate_formula("=ISOWEEKNUM(A1)", cells) == day.isocalendar().week
    assert evaluate_formula('=TEXT(A1,"yyyy-mm-dd")', cells) == day.isoformat()
    assert evaluate_formula(f'=DATEVALUE("{day.isoformat()}")') == number


@given(
    DAYS.filter(lambda day: day.year > 1905),
    st.integers(-400, 400),
    st.sets(st.integers(-500, 500), max_size=5),
    st.integers(1, 7),
)
def test_workdays_counted_day_by_day(day: datetime.date, count: int, off: set[int], weekend: int) -> None:
    weekdays = [((weekend + 5 - 1) % 7), ((weekend + 6 - 1) % 7)]  # 0 is Monday; weekend 1 is Saturday and Sunday
    holidays = {day + datetime.timedelta(days=step) for step in off}
    here, left = day, abs(count)
    while left:
        here += datetime.timedelta(days=1 if count > 0 else -1)
        left -= here.weekday() not in weekdays and here not in holidays
    cells = {"A1": serial(day.year, day.month, day.day)}
    cells |= {f"B{i + 1}": serial(one.year, one.month, one.day) for i, one in enumerate(holidays)}
    assert evaluate_formula(f"=WORKDAY.INTL(A1,{count},{weekend},B1:B6)", cells) == serial(
        here.year, here.month, here.day
    )
